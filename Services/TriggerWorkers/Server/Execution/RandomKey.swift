import DocumentModel
import FunctionProtocol

/// The key from which a trigger's run makes its random bytes. It can't be predicted, and the journal keeps it with the run's next
/// write, so that a run that starts again makes the same bytes.
enum RandomKey {
    static func isAsked(by effect: FunctionEffect) -> Bool { effect.service == FunctionEffect.random }

    static func make() -> Value {
        var generator = SystemRandomNumberGenerator()
        return .binary(Binary((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }, subtype: 0))
    }
}

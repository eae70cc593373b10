import AppDefinition
import DocumentModel
import EventLoop
import FunctionProtocol

/// What rule functions answered during one call, each question asked once.
///
/// A question whose answer isn't known ends the attempt; its transaction is over when the function runs, and the call begins anew. So
/// nobody waits for JavaScript while holding a lock or a connection that the function may need.
final class RuleAnswers: Sendable {
    /// The attempt can't go on without an answer.
    struct Missing: Error {}

    private struct Question: Sendable {
        let name: String
        let arguments: [Value]
    }

    private struct State {
        var known: [ExactText: RuleFunctionResult] = [:]
        var missing: [ExactText: Question] = [:]
        /// Questions that are gathered before they are asked; grows, since the first documents may be all that are wanted.
        var batch = 8
    }

    /// Beyond so many a call is refused.
    private static let most = 20_000
    private static let largestBatch = 512
    private static let concurrency = 8

    private let ask: RuleExpression.FunctionCall
    private let state = Locked(State())

    init(_ ask: @escaping RuleExpression.FunctionCall) { self.ask = ask }

    /// The answer, or `Missing`.
    func look(_ name: String, _ arguments: [Value]) throws -> RuleFunctionResult {
        let key = Self.key(name, arguments)
        return try state.withLock { state in
            if let known = state.known[key] { return known }
            state.missing[key] = Question(name: name, arguments: arguments)
            throw Missing()
        }
    }

    /// The answer, asked for at once.
    func askNow(_ name: String, _ arguments: [Value]) async throws -> RuleFunctionResult {
        let key = Self.key(name, arguments)
        if let known = state.withLock({ $0.known[key] }) { return known }
        let answer = try await ask(name, arguments)
        state.withLock { $0.known[key] = answer }
        return answer
    }

    /// Whether it's time to ask, before more documents are looked at.
    var isBatchFull: Bool { state.withLock { $0.missing.count >= $0.batch } }

    /// Asks all that was missing.
    func askMissing() async throws {
        let questions = state.withLock { state in
            defer {
                state.missing = [:]
                state.batch = min(state.batch * 2, Self.largestBatch)
            }
            return state.missing
        }
        guard state.withLock({ $0.known.count }) + questions.count <= Self.most else {
            throw EffectFailure(
                name: "ExecutionTimeLimitExceeded",
                message: "the rules ask functions about more than \(Self.most) documents: add a filter")
        }
        try await withThrowingTaskGroup(of: (ExactText, RuleFunctionResult).self) { group in
            var rest = questions.makeIterator()
            var running = 0
            while true {
                while running < Self.concurrency, let (key, question) = rest.next() {
                    running += 1
                    group.addTask { (key, try await self.ask(question.name, question.arguments)) }
                }
                guard let (key, answer) = try await group.next() else { return }
                running -= 1
                state.withLock { $0.known[key] = answer }
            }
        }
    }

    /// Arguments of other types are other arguments.
    private static func key(_ name: String, _ arguments: [Value]) -> String {
        name + ExtendedJSON.print(.array(arguments))
    }
}

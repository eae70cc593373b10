/// Why media offload can't process a job or change at the moment.
struct MediaOffloadError: Error, Sendable, CustomStringConvertible {
    /// `superseded`: concurrent writers kept changing the same document or object.
    enum Code: String, Sendable { case superseded }

    let code: Code
    let message: String

    var description: String { "\(code.rawValue): \(message)" }
}

/// Why media offload can't process a job or change at the moment.
struct MediaOffloadError: Error, Sendable, CustomStringConvertible {
    /// `unknownApp`: this instance hasn't loaded the app, or it is no longer deployed. `superseded`: concurrent writers kept
    /// changing the same document or object.
    enum Code: String, Sendable { case unknownApp, superseded }

    let code: Code
    let message: String

    var description: String { "\(code.rawValue): \(message)" }
}

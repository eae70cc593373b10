/// Why media offload can't go on with a job or change at the moment.
struct MediaOffloadError: Error, Sendable, CustomStringConvertible {
    /// `unknownApp`: this instance hasn't loaded the app, or it is deployed no more. `superseded`: others kept writing the same
    /// document or object.
    enum Code: String, Sendable { case unknownApp, superseded }

    let code: Code
    let message: String

    var description: String { "\(code.rawValue): \(message)" }
}

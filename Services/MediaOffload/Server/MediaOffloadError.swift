/// Why media offload can't process a job or change at the moment.
struct MediaOffloadError: Error, Sendable, CustomStringConvertible {
    /// `superseded`: concurrent writers kept changing the same document or object. `local`: this machine lacks something at the
    /// moment, such as memory, processes, descriptors, or the program that makes thumbnails.
    enum Code: String, Sendable { case superseded, local }

    let code: Code
    let message: String

    var description: String { "\(code.rawValue): \(message)" }
}

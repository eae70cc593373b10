/// Why an archive can't be read or written.
public struct ArchiveError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure; raw values are stable.
    public enum Code: String, Hashable, Sendable {
        /// The bytes are no zip or tar archive, or are damaged or encrypted.
        case unreadable = "archive-unreadable"
        /// The archive exceeds a limit.
        case tooLarge = "archive-too-large"
        /// An archive can't be made of the files.
        case unwritable = "archive-unwritable"
    }

    public let code: Code
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code.rawValue): \(message)" }
}

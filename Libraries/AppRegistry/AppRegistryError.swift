/// Why an operation of the registry failed.
public struct AppRegistryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure; raw values are stable.
    public enum Code: String, Hashable, Sendable {
        /// No app of that id is deployed.
        case appUnknown = "app-unknown"
        /// A stored definition can't be read.
        case definitionUnreadable = "definition-unreadable"
        /// A secret can't be stored, since no key to encrypt it with is configured.
        case encryptionKeyMissing = "encryption-key-missing"
        /// The history of an app doesn't have that version, or no longer.
        case versionUnknown = "version-unknown"
    }

    public let code: Code
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code.rawValue): \(message)" }
}

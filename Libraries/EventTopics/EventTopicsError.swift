/// Why bytes from a topic are no event of its contract.
public struct EventTopicsError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error; a new kind breaks nobody's `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case missingHeader, unsupportedVersion, unknownType, notADocument, missingField, wrongType
        }
        private let base: Base

        /// A CloudEvents header that every event has is absent.
        public static let missingHeader = Code(base: .missingHeader)
        /// `ce_specversion` is not 1.x.
        public static let unsupportedVersion = Code(base: .unsupportedVersion)
        /// `ce_type` names no event of this topic that this program knows.
        public static let unknownType = Code(base: .unknownType)
        /// The value is no Extended JSON document.
        public static let notADocument = Code(base: .notADocument)
        /// A field that the contract requires is absent.
        public static let missingField = Code(base: .missingField)
        /// A field or header has a value that the contract doesn't allow.
        public static let wrongType = Code(base: .wrongType)

        public var description: String { base.rawValue }
    }

    /// What kind of error it is.
    public let code: Code
    /// One sentence; names the field or header, never its value.
    public let message: String

    /// An error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code): \(message)" }
}

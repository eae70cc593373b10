/// Why a message isn't an event of its topic's contract.
public struct EventTopicsError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error; not an enumeration, so that new kinds don't break a caller's `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case missingHeader, unsupportedVersion, unknownType, notADocument, missingField, wrongType
        }
        private let base: Base

        /// A CloudEvents header that every event has is absent.
        public static let missingHeader = Code(base: .missingHeader)
        /// `ce_specversion` is not 1.x.
        public static let unsupportedVersion = Code(base: .unsupportedVersion)
        /// `ce_type` isn't a type of this topic that this program knows.
        public static let unknownType = Code(base: .unknownType)
        /// The value isn't an Extended JSON document.
        public static let notADocument = Code(base: .notADocument)
        /// A field that the contract requires is absent.
        public static let missingField = Code(base: .missingField)
        /// A field or header has a value that the contract doesn't allow.
        public static let wrongType = Code(base: .wrongType)

        public var description: String { base.rawValue }
    }

    /// What kind of error it is.
    public let code: Code
    /// The error in one sentence, with the name of the field or header but never its value.
    public let message: String

    /// An error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code): \(message)" }
}

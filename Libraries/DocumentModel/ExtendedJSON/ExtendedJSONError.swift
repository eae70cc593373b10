/// Why a text is no Extended JSON, and where.
public struct ExtendedJSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of fault; stable.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case unexpectedEnd, unexpectedByte, badNumber, badString, badEncoding, badWrapper, duplicateKey, tooDeep,
                tooLarge, trailingBytes,
                notADocument
        }

        private let name: Name
        private init(_ name: Name) { self.name = name }

        /// The text ends inside a value.
        public static let unexpectedEnd = Code(.unexpectedEnd)
        /// A byte that can't stand here.
        public static let unexpectedByte = Code(.unexpectedByte)
        /// A number that is malformed or beyond every type.
        public static let badNumber = Code(.badNumber)
        /// A string with a control character, a wrong escape or half a surrogate pair.
        public static let badString = Code(.badString)
        /// A string that is not UTF-8.
        public static let badEncoding = Code(.badEncoding)
        /// A type wrapper such as `$oid` with wrong contents.
        public static let badWrapper = Code(.badWrapper)
        /// A key that a document has already, where that is refused.
        public static let duplicateKey = Code(.duplicateKey)
        /// Nested deeper than the limit.
        public static let tooDeep = Code(.tooDeep)
        /// Longer than the limit.
        public static let tooLarge = Code(.tooLarge)
        /// Something follows the value.
        public static let trailingBytes = Code(.trailingBytes)
        /// A value, but not a document where one is needed.
        public static let notADocument = Code(.notADocument)

        /// The name of the code.
        public var description: String { name.rawValue }
    }

    /// The kind of fault.
    public let code: Code
    /// The byte at which it was noticed, from 0.
    public let offset: Int
    /// What is wrong, for people; holds nothing of the input.
    public let message: String

    @inline(never)
    init(_ code: Code, at offset: Int, _ message: String) {
        self.code = code
        self.offset = offset
        self.message = message
    }

    /// Message and place.
    public var description: String { "\(message) (\(code) at byte \(offset))" }
}

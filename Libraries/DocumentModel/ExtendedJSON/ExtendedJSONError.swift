/// Why a text isn't Extended JSON, and where.
public struct ExtendedJSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of errors; their names are stable.
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
        /// A byte that isn't allowed at its place.
        public static let unexpectedByte = Code(.unexpectedByte)
        /// A number that is malformed or out of range for every type.
        public static let badNumber = Code(.badNumber)
        /// A string with a control character, an invalid escape or an incomplete surrogate pair.
        public static let badString = Code(.badString)
        /// A string that is not UTF-8.
        public static let badEncoding = Code(.badEncoding)
        /// A type wrapper such as `$oid` with invalid contents.
        public static let badWrapper = Code(.badWrapper)
        /// A repeated key in a document, if that is refused.
        public static let duplicateKey = Code(.duplicateKey)
        /// Documents and arrays are nested deeper than the limit.
        public static let tooDeep = Code(.tooDeep)
        /// The text is longer, or has more values, than the limit.
        public static let tooLarge = Code(.tooLarge)
        /// Something other than white space follows the value.
        public static let trailingBytes = Code(.trailingBytes)
        /// The value isn't a document, but one is needed.
        public static let notADocument = Code(.notADocument)

        /// The name of the code.
        public var description: String { name.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// The offset of the byte at which the error was detected, from 0.
    public let offset: Int
    /// A readable message, which contains nothing of the input.
    public let message: String

    @inline(never)
    init(_ code: Code, at offset: Int, _ message: String) {
        self.code = code
        self.offset = offset
        self.message = message
    }

    /// The message, code and offset.
    public var description: String { "\(message) (\(code) at byte \(offset))" }
}

/// The binary form of documents (bsonspec.org, version 1.1).
public enum BSON {
    /// The largest document that `decode` accepts by default: MongoDB's limit, and room for what MongoDB adds.
    public static let maximumBytes = 16 * 1024 * 1024 + 16 * 1024

    /// The bytes of a document.
    /// - Throws: if a name or a regular expression contains a zero byte, which BSON can't represent.
    public static func encode(_ document: Document) throws(BSONError) -> [UInt8] {
        var writer = ByteWriter()
        writer.appendBSON(document)
        guard !writer.hasBrokenName else { throw BSONError(.badValue, at: 0, "a name holds a zero byte") }
        return writer.withBytes { Array($0) }
    }

    /// Reads one document that uses all of the bytes.
    /// - Parameter maximumDepth: the deepest nesting of documents and arrays (1–1000).
    public static func decode(_ bytes: [UInt8], maximumDepth: Int = 200) throws(BSONError) -> Document {
        try bytes.withUnsafeBufferPointer { (bytes) throws(BSONError) in
            try decode(UnsafeRawBufferPointer(bytes), maximumDepth: maximumDepth)
        }
    }

    /// Reads one document that uses all of the bytes.
    /// - Parameter refusesRepeatedNames: whether a document that has a name twice is an error; otherwise the last value counts.
    public static func decode(
        _ bytes: UnsafeRawBufferPointer, maximumDepth: Int = 200, refusesRepeatedNames: Bool = false
    ) throws(BSONError) -> Document {
        var reader = BSONReader(
            bytes, maximumDepth: min(max(maximumDepth, 1), 1000), refusesRepeatedNames: refusesRepeatedNames)
        let document = try reader.document(depth: 1)
        guard reader.position == bytes.count else {
            throw BSONError(.badLength, at: reader.position, "bytes follow the document")
        }
        return document
    }
}

/// Why bytes aren't a BSON document, and where.
public struct BSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of errors; their names are stable.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case unexpectedEnd, badLength, badType, badEncoding, badValue, repeatedName, tooDeep
        }
        private let name: Name
        private init(_ name: Name) { self.name = name }

        /// The bytes end inside a value.
        public static let unexpectedEnd = Code(.unexpectedEnd)
        /// A length that doesn't match its contents.
        public static let badLength = Code(.badLength)
        /// A byte that isn't the code of a type.
        public static let badType = Code(.badType)
        /// A string that is not UTF-8.
        public static let badEncoding = Code(.badEncoding)
        /// A boolean that is neither 0 nor 1, or a string without its final zero byte.
        public static let badValue = Code(.badValue)
        /// A document that has a name twice.
        public static let repeatedName = Code(.repeatedName)
        /// Documents and arrays are nested deeper than the limit.
        public static let tooDeep = Code(.tooDeep)

        /// The name of the code.
        public var description: String { name.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// The offset of the byte at which the error was detected, from 0.
    public let offset: Int
    /// A readable message, which contains nothing of the input.
    public let message: String

    init(_ code: Code, at offset: Int, _ message: String) {
        self.code = code
        self.offset = offset
        self.message = message
    }

    /// The message, code and offset.
    public var description: String { "\(message) (\(code) at byte \(offset))" }
}

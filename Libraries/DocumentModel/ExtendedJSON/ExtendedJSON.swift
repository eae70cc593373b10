/// MongoDB Extended JSON v2: the text form of BSON values on the wire, in topics and in Postgres.
///
/// Reads both canonical and relaxed text, and the forms of v1 that old exports contain. Writes all of its modes.
public enum ExtendedJSON {
    /// How much type information the text contains.
    public enum Mode: Sendable {
        /// Every type is preserved.
        case canonical
        /// As canonical, and every bit of a decimal is preserved: for texts that are stored, digested, or exchanged between parts
        /// of the system. If a decimal's text alone means other bits (for a NaN with a payload, or a coefficient beyond 34 digits),
        /// its bits follow the text, as in `NaN:7c000000000000000000000000000012`.
        case exact
        /// Numbers are plain and dates readable; values that a plain number can't represent stay wrapped.
        case relaxed
    }

    /// The limits of a parser.
    public struct Limits: Sendable {
        /// The deepest nesting of documents and arrays (1–1000).
        public var maximumDepth: Int
        /// The longest text in bytes.
        public var maximumBytes: Int
        /// The most values in documents and arrays, at all depths: a value needs many times the memory of its text.
        public var maximumValues: Int
        /// Whether to refuse a repeated key in a document; otherwise its last value is kept in the place of the first.
        public var rejectDuplicateKeys: Bool

        /// Creates limits; by default 48 MB, MongoDB's limit for messages, and a depth of 120: a document's 100 levels, and the
        /// levels around it in an event, a frame or a request.
        public init(
            maximumDepth: Int = Document.maximumDepth + 20, maximumBytes: Int = 48_000_000, maximumValues: Int = .max,
            rejectDuplicateKeys: Bool = false
        ) {
            self.maximumDepth = min(max(maximumDepth, 1), 1000)
            self.maximumBytes = maximumBytes
            self.maximumValues = maximumValues
            self.rejectDuplicateKeys = rejectDuplicateKeys
        }

        /// The limits for input of people and clients: if a key were accepted twice, one of its values would be lost. No document
        /// of 16 MiB of BSON has more values.
        public static let input = Limits(maximumValues: 2_000_000, rejectDuplicateKeys: true)
    }

    /// Reads one value; nothing but white space may follow.
    public static func parse(_ bytes: UnsafeRawBufferPointer, limits: Limits = Limits()) throws(ExtendedJSONError)
        -> Value
    {
        var parser = try JSONParser(bytes, limits: limits)
        return try parser.parse()
    }

    /// Reads one value; nothing but white space may follow.
    public static func parse(_ bytes: [UInt8], limits: Limits = Limits()) throws(ExtendedJSONError) -> Value {
        try bytes.withUnsafeBufferPointer { (bytes) throws(ExtendedJSONError) in
            try parse(UnsafeRawBufferPointer(bytes), limits: limits)
        }
    }

    /// Reads one value; nothing but white space may follow.
    public static func parse(_ text: String, limits: Limits = Limits()) throws(ExtendedJSONError) -> Value {
        var text = text
        return try text.withUTF8 { bytes in
            Result { () throws(ExtendedJSONError) in try parse(UnsafeRawBufferPointer(bytes), limits: limits) }
        }.get()
    }

    /// Reads one document; nothing but white space may follow.
    public static func parseDocument(_ bytes: UnsafeRawBufferPointer, limits: Limits = Limits())
        throws(ExtendedJSONError) -> Document
    {
        try document(parse(bytes, limits: limits))
    }

    /// Reads one document; nothing but white space may follow.
    public static func parseDocument(_ bytes: [UInt8], limits: Limits = Limits()) throws(ExtendedJSONError) -> Document
    {
        try document(parse(bytes, limits: limits))
    }

    /// Reads one document; nothing but white space may follow.
    public static func parseDocument(_ text: String, limits: Limits = Limits()) throws(ExtendedJSONError) -> Document {
        try document(parse(text, limits: limits))
    }

    private static func document(_ value: Value) throws(ExtendedJSONError) -> Document {
        guard case .document(let document) = value else {
            throw ExtendedJSONError(.notADocument, at: 0, "the text is not a document")
        }
        return document
    }

    /// The text of a value.
    public static func print(_ value: Value, mode: Mode = .canonical) -> String {
        var writer = ByteWriter()
        writer.append(value, mode: mode)
        return writer.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// The text of a document.
    public static func print(_ document: Document, mode: Mode = .canonical) -> String {
        var writer = ByteWriter()
        writer.append(document, mode: mode)
        return writer.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// Appends the text of a value to a frame.
    public static func append(_ value: Value, mode: Mode = .canonical, to bytes: inout [UInt8]) {
        var writer = ByteWriter()
        writer.append(value, mode: mode)
        writer.withBytes { bytes.append(contentsOf: $0) }
    }

    /// Appends the text of a document to a frame.
    public static func append(_ document: Document, mode: Mode = .canonical, to bytes: inout [UInt8]) {
        var writer = ByteWriter()
        writer.append(document, mode: mode)
        writer.withBytes { bytes.append(contentsOf: $0) }
    }

    /// Appends a string as JSON, with its quotes.
    public static func append(string: String, to bytes: inout [UInt8]) {
        var writer = ByteWriter()
        writer.appendQuoted(string)
        writer.withBytes { bytes.append(contentsOf: $0) }
    }

    /// Checks that a text is one JSON value, without building it: for text that is inserted into a frame unchanged.
    ///
    /// Checks structure, encoding and limits, but not the contents of type wrappers.
    public static func validate(_ bytes: UnsafeRawBufferPointer, limits: Limits = Limits()) throws(ExtendedJSONError) {
        var parser = try JSONParser(bytes, limits: limits)
        try parser.validate()
    }

    /// Checks that a text is one JSON value, without building it.
    public static func validate(_ bytes: [UInt8], limits: Limits = Limits()) throws(ExtendedJSONError) {
        try bytes.withUnsafeBufferPointer { (bytes) throws(ExtendedJSONError) in
            try validate(UnsafeRawBufferPointer(bytes), limits: limits)
        }
    }
}

extension Value: CustomStringConvertible {
    /// The relaxed Extended JSON text.
    public var description: String { ExtendedJSON.print(self, mode: .relaxed) }
}

extension Document: CustomStringConvertible {
    /// The relaxed Extended JSON text.
    public var description: String { ExtendedJSON.print(self, mode: .relaxed) }
}

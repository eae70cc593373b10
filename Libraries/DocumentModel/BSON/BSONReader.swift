/// A checked reader of BSON: every length is compared with the available bytes before it is used.
struct BSONReader {
    private let bytes: UnsafeRawBufferPointer
    private let maximumDepth: Int
    private let refusesRepeatedNames: Bool
    var position = 0
    /// The end of the document that is being read.
    private var end: Int

    init(_ bytes: UnsafeRawBufferPointer, maximumDepth: Int, refusesRepeatedNames: Bool) {
        self.bytes = bytes
        self.refusesRepeatedNames = refusesRepeatedNames
        self.maximumDepth = maximumDepth
        end = bytes.count
    }

    private func fault(_ code: BSONError.Code, _ message: String) -> BSONError {
        BSONError(code, at: position, message)
    }

    private func need(_ count: Int) throws(BSONError) {
        guard count <= end - position else { throw fault(.unexpectedEnd, "the document ends inside a value") }
    }

    private mutating func fixed<T: FixedWidthInteger>(_ type: T.Type) throws(BSONError) -> T {
        try need(MemoryLayout<T>.size)
        let value = T(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: T.self))
        position += MemoryLayout<T>.size
        return value
    }

    mutating func document(depth: Int) throws(BSONError) -> Document {
        var fields: [Document.Field] = []
        var seen = SeenKeys()
        try container(depth: depth) { (reader, type) throws(BSONError) in
            let key = try reader.cString()
            let value = try reader.value(type, depth: depth)
            if let place = (fields.withUnsafeBufferPointer { seen.place(of: key, in: $0) }) {
                if reader.refusesRepeatedNames { throw reader.fault(.repeatedName, "a document has a name twice") }
                fields[place].value = value
            } else {
                fields.append(Document.Field(key, value))
            }
        }
        return Document(fields: fields)
    }

    private mutating func array(depth: Int) throws(BSONError) -> [Value] {
        var elements: [Value] = []
        try container(depth: depth) { (reader, type) throws(BSONError) in
            try reader.skipCString()
            elements.append(try reader.value(type, depth: depth))
        }
        return elements
    }

    private mutating func container(
        depth: Int, _ element: (inout BSONReader, UInt8) throws(BSONError) -> Void
    ) throws(BSONError) {
        guard depth <= maximumDepth else { throw fault(.tooDeep, "nested deeper than \(maximumDepth)") }
        let start = position
        let length = Int(try fixed(Int32.self))
        guard length >= 5, length <= end - start else {
            position = start
            throw fault(.badLength, "a document's length is wrong")
        }
        let outerEnd = end
        end = start + length
        while true {
            let type = try fixed(UInt8.self)
            if type == 0 { break }
            try element(&self, type)
        }
        guard position == end else { throw fault(.badLength, "a document ends before its length") }
        end = outerEnd
    }

    private func endOfCString() throws(BSONError) -> Int {
        var index = position
        while index < end {
            if bytes[index] == 0 { return index }
            index += 1
        }
        throw fault(.unexpectedEnd, "a name has no end")
    }

    private mutating func skipCString() throws(BSONError) { position = try endOfCString() + 1 }

    private mutating func cString() throws(BSONError) -> String {
        let stop = try endOfCString()
        let text = try text(position..<stop)
        position = stop + 1
        return text
    }

    private func text(_ range: Range<Int>) throws(BSONError) -> String {
        guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
            let text = UTF8Check.string(base + range.lowerBound, range.count)
        else { throw fault(.badEncoding, "a string is not UTF-8") }
        return text
    }

    private mutating func string() throws(BSONError) -> String {
        let length = Int(try fixed(Int32.self))
        guard length >= 1 else { throw fault(.badLength, "a string's length is wrong") }
        try need(length)
        guard bytes[position + length - 1] == 0 else { throw fault(.badValue, "a string has no zero byte at its end") }
        let text = try text(position..<position + length - 1)
        position += length
        return text
    }

    private mutating func objectId() throws(BSONError) -> ObjectId {
        let high = try fixed(UInt64.self).byteSwapped
        return ObjectId(high: high, low: try fixed(UInt32.self).byteSwapped)
    }

    private mutating func binary() throws(BSONError) -> Binary {
        var length = Int(try fixed(Int32.self))
        let subtype = try fixed(UInt8.self)
        guard length >= 0 else { throw fault(.badLength, "a binary's length is wrong") }
        try need(length)
        if subtype == 2 {
            // The old form repeats the length in the contents.
            let inner = Int(try fixed(Int32.self))
            guard length >= 4, inner == length - 4 else { throw fault(.badLength, "a binary's inner length is wrong") }
            length = inner
        }
        defer { position += length }
        return Binary(Array(bytes[position..<position + length]), subtype: subtype)
    }

    private mutating func code(depth: Int) throws(BSONError) -> Code {
        let start = position
        let length = Int(try fixed(Int32.self))
        let source = try string()
        let scope = try document(depth: depth + 1)
        guard position - start == length else { throw fault(.badLength, "the length of code with scope is wrong") }
        return Code(source, scope: scope)
    }

    private mutating func value(_ type: UInt8, depth: Int) throws(BSONError) -> Value {
        switch type {
        case 0x01: return .double(Double(bitPattern: try fixed(UInt64.self)))
        case 0x02: return .string(try string())
        case 0x03: return .document(try document(depth: depth + 1))
        case 0x04: return .array(try array(depth: depth + 1))
        case 0x05: return .binary(try binary())
        case 0x06: return .undefined
        case 0x07: return .objectId(try objectId())
        case 0x08:
            let flag = try fixed(UInt8.self)
            guard flag <= 1 else { throw fault(.badValue, "a boolean is neither 0 nor 1") }
            return .bool(flag == 1)
        case 0x09: return .date(try fixed(Int64.self))
        case 0x0A: return .null
        case 0x0B:
            let pattern = try cString()
            return .regex(RegularExpression(pattern, options: try cString()))
        case 0x0C:
            let namespace = try string()
            return .dbPointer(DBPointer(namespace: namespace, id: try objectId()))
        case 0x0D: return .code(Code(try string()))
        case 0x0E: return .symbol(try string())
        case 0x0F: return .code(try code(depth: depth))
        case 0x10: return .int32(try fixed(Int32.self))
        case 0x11:
            let increment = try fixed(UInt32.self)
            return .timestamp(Timestamp(seconds: try fixed(UInt32.self), increment: increment))
        case 0x12: return .int64(try fixed(Int64.self))
        case 0x13:
            let low = try fixed(UInt64.self)
            return .decimal128(Decimal128(high: try fixed(UInt64.self), low: low))
        case 0x7F: return .maxKey
        case 0xFF: return .minKey
        default: throw fault(.badType, "an unknown type")
        }
    }
}

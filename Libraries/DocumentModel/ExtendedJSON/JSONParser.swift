/// A recursive parser over bytes that the caller keeps alive. Every read is preceded by a check against `end`.
struct JSONParser: ~Copyable {
    let base: UnsafePointer<UInt8>
    let end: Int
    let limits: ExtendedJSON.Limits
    var position = 0
    private var valueCount = 0
    private var fields = ScratchStack<Document.Field>(capacity: 32)
    private var elements = ScratchStack<Value>(capacity: 32)

    init(_ bytes: UnsafeRawBufferPointer, limits: ExtendedJSON.Limits) throws(ExtendedJSONError) {
        guard bytes.count <= limits.maximumBytes else {
            throw ExtendedJSONError(
                .tooLarge, at: limits.maximumBytes, "the text is longer than \(limits.maximumBytes) bytes")
        }
        guard let base = bytes.baseAddress else { throw ExtendedJSONError(.unexpectedEnd, at: 0, "the text is empty") }
        self.base = base.assumingMemoryBound(to: UInt8.self)
        self.end = bytes.count
        self.limits = limits
    }

    mutating func parse() throws(ExtendedJSONError) -> Value {
        let value = try value(depth: 0)
        try finish()
        return value
    }

    mutating func finish() throws(ExtendedJSONError) {
        skipSpace()
        guard position == end else { throw fault(.trailingBytes, "something follows the value") }
    }

    @inline(never)
    func fault(_ code: ExtendedJSONError.Code, _ message: StaticString) -> ExtendedJSONError {
        ExtendedJSONError(code, at: position, message.description)
    }

    @inline(__always)
    mutating func skipSpace() {
        while position < end {
            let byte = base[position]
            if byte > 0x20 { return }
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            position &+= 1
        }
    }

    /// Skips white space and returns the following byte without consuming it.
    @inline(__always)
    mutating func next() throws(ExtendedJSONError) -> UInt8 {
        skipSpace()
        guard position < end else { throw fault(.unexpectedEnd, "the text ends inside a value") }
        return base[position]
    }

    mutating func value(depth: Int) throws(ExtendedJSONError) -> Value {
        switch try next() {
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "{"): return try object(depth: depth + 1)
        case UInt8(ascii: "["): return try array(depth: depth + 1)
        case UInt8(ascii: "t"):
            try word("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try word("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try word("null")
            return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default: throw fault(.unexpectedByte, "no value begins with this byte")
        }
    }

    /// Whether these bytes are at a place.
    @inline(__always)
    func stands(_ text: StaticString, at place: Int) -> Bool {
        let count = text.utf8CodeUnitCount
        guard place &+ count <= end else { return false }
        for index in 0..<count where base[place &+ index] != text.utf8Start[index] { return false }
        return true
    }

    mutating func word(_ text: StaticString) throws(ExtendedJSONError) {
        guard stands(text, at: position) else { throw fault(.unexpectedByte, "not a JSON word") }
        position &+= text.utf8CodeUnitCount
    }

    private mutating func array(depth: Int) throws(ExtendedJSONError) -> Value {
        try check(depth: depth)
        position &+= 1
        var elements: [Value] = []
        if try next() == UInt8(ascii: "]") { position &+= 1; return .array(elements) }
        while true {
            try countValue()
            elements.append(try value(depth: depth))
            let byte = try next()
            position &+= 1
            if byte == UInt8(ascii: ",") { continue }
            if byte == UInt8(ascii: "]") { return .array(elements) }
            position &-= 1
            throw fault(.unexpectedByte, "a comma or the end of the array was expected")
        }
    }

    @inline(__always)
    mutating func countValue() throws(ExtendedJSONError) {
        valueCount &+= 1
        guard valueCount <= limits.maximumValues else {
            throw ExtendedJSONError(.tooLarge, at: position, "there are more than \(limits.maximumValues) values")
        }
    }

    func check(depth: Int) throws(ExtendedJSONError) {
        guard depth <= limits.maximumDepth else { throw fault(.tooDeep, "nested deeper than the limit") }
    }

    private mutating func object(depth: Int) throws(ExtendedJSONError) -> Value {
        let start = position
        position &+= 1
        let first = try next()
        if first == UInt8(ascii: "}") {
            try check(depth: depth)
            position &+= 1
            return .document(Document())
        }
        let mayBeWrapper =
            first == UInt8(ascii: "\"") && position &+ 1 < end && base[position &+ 1] == UInt8(ascii: "$")
        if mayBeWrapper {
            let keyStart = position
            if let value = wrapper() { return value }
            position = keyStart
            // A wrapper has up to two levels of braces that don't count as levels of the document.
            if depth > limits.maximumDepth + 2 { try check(depth: depth) }
        } else {
            try check(depth: depth)
        }
        let fields = try self.fields(depth: depth)
        if mayBeWrapper, let value = try TypeWrapper(fields: fields, offset: start).value() { return value }
        if mayBeWrapper { try check(depth: depth) }
        return .document(Document(fields: fields))
    }

    /// Reads the fields of an object, from its first key up to and including its closing brace.
    private mutating func fields(depth: Int) throws(ExtendedJSONError) -> [Document.Field] {
        let start = fields.count
        var seen = SeenKeys()
        while true {
            guard try next() == UInt8(ascii: "\"") else { throw fault(.unexpectedByte, "a key was expected") }
            let keyPosition = position
            let key = try string()
            let keyBytes = UnsafeBufferPointer(start: base + (keyPosition &+ 1), count: position &- keyPosition &- 2)
            guard try next() == UInt8(ascii: ":") else { throw fault(.unexpectedByte, "a colon was expected") }
            position &+= 1
            try countValue()
            let value = try value(depth: depth)
            let present = fields.view(from: start)
            // A key without escapes has the same bytes, and so the same length, as in the text.
            let isPlain = keyBytes.count == key.utf8.count
            let place =
                isPlain
                ? seen.place(of: key, bytes: keyBytes, in: UnsafeBufferPointer(present))
                : seen.place(of: key, in: UnsafeBufferPointer(present))
            if let place {
                guard !limits.rejectDuplicateKeys else {
                    throw ExtendedJSONError(.duplicateKey, at: keyPosition, "the document has this key already")
                }
                present[place].value = value
            } else {
                fields.push(Document.Field(key, value))
            }
            let byte = try next()
            position &+= 1
            if byte == UInt8(ascii: ",") { continue }
            if byte == UInt8(ascii: "}") { return fields.pop(from: start) }
            position &-= 1
            throw fault(.unexpectedByte, "a comma or the end of the document was expected")
        }
    }
}

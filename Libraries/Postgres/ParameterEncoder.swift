/// Encodes the parameters of one statement into one buffer, which is reused for the next statement.
struct ParameterEncoder {
    private(set) var types: [UInt32] = []
    private var bytes: [UInt8] = []
    private var offsets: [Int] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []
    /// The largest capacity in bytes that is kept; a larger buffer is released after use.
    private let kept = 1 << 20

    var count: Int32 { Int32(offsets.count) }

    /// Throws if the statement or its parameters can't be sent.
    static func check(_ statement: PostgresStatement) throws(PostgresError) {
        // libpq would truncate the statement there.
        if statement.sql.utf8.contains(0) { throw PostgresError(.invalidParameter, "the statement contains U+0000") }
        try check(statement.parameters)
    }

    private static func check(_ parameters: [PostgresValue]) throws(PostgresError) {
        guard parameters.count <= 65_535 else {
            throw PostgresError(.invalidParameter, "more than 65,535 parameters")
        }
        for (index, parameter) in parameters.enumerated() {
            let size = parameter.size
            // libpq determines the length of texts by strlen: a NUL would silently truncate the value.
            if size.hasNUL { throw PostgresError(.invalidParameter, "parameter $\(index + 1) contains U+0000") }
            // The server's limit for one field.
            if size.bytes >= 1 << 30 {
                throw PostgresError(.invalidParameter, "parameter $\(index + 1) is larger than 1 GiB")
            }
        }
    }

    /// Encodes parameters that were checked before.
    mutating func encode(_ parameters: [PostgresValue]) {
        if bytes.capacity > kept { bytes = [] }
        bytes.removeAll(keepingCapacity: true)
        offsets.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        formats.removeAll(keepingCapacity: true)
        types.removeAll(keepingCapacity: true)
        for parameter in parameters {
            let start = bytes.count
            types.append(parameter.typeOID)
            formats.append(parameter.typeOID == 0 ? 0 : 1)
            if case .null = parameter {
                offsets.append(-1)
                lengths.append(0)
                continue
            }
            offsets.append(start)
            append(parameter)
            lengths.append(Int32(bytes.count - start))
            if parameter.typeOID == 0 { bytes.append(0) }
        }
    }

    /// The arrays that libpq's functions take, valid inside `body` only.
    func withPointers<R>(
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> R
    ) -> R {
        bytes.withUnsafeBytes { buffer in
            withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: max(offsets.count, 1)) { values in
                for (index, offset) in offsets.enumerated() {
                    let pointer = offset < 0 ? nil : buffer.baseAddress?.advanced(by: offset)
                    values.initializeElement(at: index, to: pointer?.assumingMemoryBound(to: CChar.self))
                }
                return lengths.withUnsafeBufferPointer { lengths in
                    formats.withUnsafeBufferPointer { formats in
                        body(UnsafePointer(values.baseAddress), lengths.baseAddress, formats.baseAddress)
                    }
                }
            }
        }
    }

    private mutating func append(_ value: PostgresValue) {
        switch value {
        case .null: break
        case .text(let text): bytes.append(contentsOf: text.utf8)
        case .utf8(let text), .bytea(let text): bytes.append(contentsOf: text)
        case .int(let number): bytes.append(contentsOf: String(number).utf8)
        case .double(let number): bytes.append(contentsOf: number.postgresText.utf8)
        case .bool(let flag): bytes.append(flag ? UInt8(ascii: "t") : UInt8(ascii: "f"))
        case .textArray(let items): appendArray(items, PostgresType.text) { $0.append(contentsOf: $1.utf8) }
        case .utf8Array(let items): appendArray(items, PostgresType.text) { $0.append(contentsOf: $1) }
        case .byteaArray(let items): appendArray(items, PostgresType.bytea) { $0.append(contentsOf: $1) }
        case .int8Array(let items): appendArray(items, PostgresType.int8) { $0.appendBigEndian($1) }
        case .boolArray(let items): appendArray(items, PostgresType.bool) { $0.append($1 ? 1 : 0) }
        }
    }

    /// Postgres' binary array: dimensions, has nulls, element type; per dimension size and lower bound; then each element with its length.
    private mutating func appendArray<T>(_ items: [T?], _ element: UInt32, _ append: (inout [UInt8], T) -> Void) {
        bytes.appendBigEndian(Int32(items.isEmpty ? 0 : 1))
        bytes.appendBigEndian(Int32(items.contains { $0 == nil } ? 1 : 0))
        bytes.appendBigEndian(element)
        if items.isEmpty { return }
        bytes.appendBigEndian(Int32(truncatingIfNeeded: items.count))
        bytes.appendBigEndian(Int32(1))
        for item in items {
            guard let item else {
                bytes.appendBigEndian(Int32(-1))
                continue
            }
            let place = bytes.count
            bytes.appendBigEndian(Int32(0))
            append(&bytes, item)
            let length = UInt32(truncatingIfNeeded: bytes.count - place - 4)
            for byte in 0..<4 { bytes[place + byte] = UInt8(truncatingIfNeeded: length >> (24 - 8 * byte)) }
        }
    }
}

extension PostgresValue {
    /// The approximate size in bytes, and whether the value is a text with a NUL.
    fileprivate var size: (bytes: Int, hasNUL: Bool) {
        switch self {
        case .null, .int, .double, .bool: (0, false)
        case .text(let text): (text.utf8.count, text.utf8.contains(0))
        case .utf8(let text): (text.count, text.contains(0))
        case .bytea(let bytes): (bytes.count, false)
        case .textArray(let items): (items.reduce(0) { $0 + ($1?.utf8.count ?? 0) + 4 }, false)
        case .utf8Array(let items), .byteaArray(let items): (items.reduce(0) { $0 + ($1?.count ?? 0) + 4 }, false)
        case .int8Array(let items): (items.count * 12, false)
        case .boolArray(let items): (items.count * 5, false)
        }
    }
}

extension [UInt8] {
    mutating func appendBigEndian<T: FixedWidthInteger>(_ number: T) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}

extension Double {
    /// The text that Postgres reads: Swift's shortest form, with Postgres' names for infinities and NaN.
    var postgresText: String {
        if isNaN { return "NaN" }
        if isInfinite { return self < 0 ? "-Infinity" : "Infinity" }
        return "\(self)"
    }
}

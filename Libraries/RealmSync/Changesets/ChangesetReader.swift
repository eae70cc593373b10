/// A checked reader of a changeset's primitives: every length is compared with the available bytes before it is used.
struct ChangesetReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var position = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    func fault(_ code: ChangesetError.Code, _ message: String, at offset: Int? = nil) -> ChangesetError {
        ChangesetError(code, at: offset ?? position, message)
    }

    /// An integer: groups of 7 bits from the lowest, with 0x80 if another byte follows. The last byte has 6 bits, and 0x40 for a
    /// negative number, whose other bits are those of its complement.
    /// - Parameter bits: of the magnitude; as many bytes are allowed as these need.
    private mutating func integer(bits: Int) throws(ChangesetError) -> (magnitude: UInt64, isNegative: Bool) {
        let start = position, most = (bits + 7) / 7
        var magnitude: UInt64 = 0
        for shift in stride(from: 0, to: 7 * most, by: 7) {
            guard position < bytes.count else { throw fault(.truncated, "it ends inside an integer", at: start) }
            let byte = bytes[position]
            position += 1
            let isLast = byte & 0x80 == 0
            let group = UInt64(isLast ? byte & 0x3F : byte & 0x7F)
            guard (group << UInt64(shift)) >> UInt64(shift) == group else { break }
            magnitude |= group << UInt64(shift)
            guard isLast else { continue }
            guard bits == 64 || magnitude >> UInt64(bits) == 0 else { break }
            return (magnitude, byte & 0x40 != 0)
        }
        throw fault(.badInteger, "an integer is too large", at: start)
    }

    private mutating func unsigned(bits: Int) throws(ChangesetError) -> UInt64 {
        let start = position
        let (magnitude, isNegative) = try integer(bits: bits)
        guard !isNegative else { throw fault(.badInteger, "an integer is negative", at: start) }
        return magnitude
    }

    mutating func int64() throws(ChangesetError) -> Int64 {
        let (magnitude, isNegative) = try integer(bits: 63)
        return isNegative ? ~Int64(bitPattern: magnitude) : Int64(bitPattern: magnitude)
    }

    mutating func int32() throws(ChangesetError) -> Int32 {
        let (magnitude, isNegative) = try integer(bits: 31)
        return Int32(truncatingIfNeeded: isNegative ? ~Int64(bitPattern: magnitude) : Int64(bitPattern: magnitude))
    }

    mutating func uint64() throws(ChangesetError) -> UInt64 { try unsigned(bits: 64) }

    mutating func uint32() throws(ChangesetError) -> UInt32 { UInt32(truncatingIfNeeded: try unsigned(bits: 32)) }

    mutating func bool() throws(ChangesetError) -> Bool {
        let start = position
        let number = try unsigned(bits: 8)
        guard number <= 1 else { throw fault(.badValue, "a boolean is neither 0 nor 1", at: start) }
        return number == 1
    }

    /// The coefficient of a decimal: groups of 7 bits in every byte, the last one too.
    mutating func coefficient() throws(ChangesetError) -> UInt128 {
        let start = position
        var value: UInt128 = 0
        for shift in stride(from: 0, to: 7 * 17, by: 7) {
            guard position < bytes.count else { throw fault(.truncated, "it ends inside a decimal", at: start) }
            let byte = bytes[position]
            position += 1
            value |= UInt128(byte & 0x7F) << UInt128(shift)
            if byte & 0x80 == 0 { return value }
        }
        throw fault(.badInteger, "a decimal has too many digits", at: start)
    }

    /// Bytes with their number before them.
    mutating func counted() throws(ChangesetError) -> UnsafeRawBufferPointer {
        let start = position
        let count = Int(try uint32())
        guard count <= bytes.count - position else { throw fault(.truncated, "it ends inside a string", at: start) }
        return try raw(count)
    }

    mutating func raw(_ count: Int) throws(ChangesetError) -> UnsafeRawBufferPointer {
        guard count <= bytes.count - position else { throw fault(.truncated, "it ends inside a value") }
        defer { position += count }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
    }

    mutating func littleEndian<T: FixedWidthInteger>(_ type: T.Type) throws(ChangesetError) -> T {
        T(littleEndian: try raw(MemoryLayout<T>.size).loadUnaligned(as: T.self))
    }

    mutating func bigEndian<T: FixedWidthInteger>(_ type: T.Type) throws(ChangesetError) -> T {
        T(bigEndian: try raw(MemoryLayout<T>.size).loadUnaligned(as: T.self))
    }
}

/// A part of a changeset's string buffer: the bytes of an interned string, or of a payload's string or binary.
public struct BufferRange: Hashable, Sendable {
    /// The first byte.
    public var offset: UInt32
    /// How many bytes it has.
    public var count: UInt32

    /// The bytes at `offset`.
    public init(offset: UInt32, count: UInt32) {
        self.offset = offset
        self.count = count
    }
}

/// The number of an interned string in the table of its changeset: the name of a class or property, the key of a dictionary, or a
/// string that is an object's primary key.
public struct InternString: Hashable, Sendable {
    /// Its place in the table.
    public var index: UInt32

    /// The string at `index`.
    public init(index: UInt32) { self.index = index }
}

/// The strings of a changeset: a buffer with all of its bytes, and the table of those that instructions name by number.
///
/// The buffer has the bytes in the order in which they were read, as realm-core keeps them. That order isn't free: the rule for two
/// `SetErase` compares positions in this buffer (see ``Transformer``).
public struct InternStrings: Sendable {
    /// The bytes of interned strings and of payloads.
    public private(set) var buffer: [UInt8] = []
    /// Where the interned strings are, by their number. All are different.
    public private(set) var ranges: [BufferRange] = []
    /// The numbers by bytes; only of a long table, since searching a short one is faster.
    private var numbers: [[UInt8]: UInt32] = [:]

    private static let shortTable = 16

    /// No strings.
    public init() {}

    /// The bytes of a part of the buffer.
    public func bytes(_ range: BufferRange) -> ArraySlice<UInt8> {
        buffer[Int(range.offset)..<Int(range.offset) + Int(range.count)]
    }

    /// The bytes of an interned string.
    public func bytes(_ string: InternString) -> ArraySlice<UInt8> { bytes(ranges[Int(string.index)]) }

    /// Adds the bytes of a payload.
    public mutating func append(_ bytes: some Collection<UInt8>) -> BufferRange {
        let offset = UInt32(buffer.count)
        buffer.append(contentsOf: bytes)
        return BufferRange(offset: offset, count: UInt32(bytes.count))
    }

    /// The number of a string, if the table has it.
    public func find(_ bytes: some Collection<UInt8>) -> InternString? {
        if ranges.count >= Self.shortTable { return numbers[Array(bytes)].map(InternString.init) }
        let place = ranges.firstIndex { $0.count == bytes.count && self.bytes($0).elementsEqual(bytes) }
        return place.map { InternString(index: UInt32($0)) }
    }

    /// The number of a string, which is added if the table doesn't have it.
    public mutating func intern(_ bytes: some Collection<UInt8>) -> InternString {
        if let known = find(bytes) { return known }
        ranges.append(append(bytes))
        if ranges.count == Self.shortTable {
            for (index, range) in ranges.enumerated() { numbers[Array(self.bytes(range))] = UInt32(index) }
        } else if ranges.count > Self.shortTable {
            numbers[Array(bytes)] = UInt32(ranges.count - 1)
        }
        return InternString(index: UInt32(ranges.count - 1))
    }
}

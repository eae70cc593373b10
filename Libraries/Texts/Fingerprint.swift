/// A hash of bytes that is the same in every process and version, so that it may be stored and sent: FNV-1a
/// (draft-eastlake-fnv), 64 bits. It protects against mistakes, not against forgery.
public struct Fingerprint: Sendable {
    /// The hash of all bytes so far.
    public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    public init() {}

    /// Creates the hash of these bytes.
    public init(_ bytes: some Sequence<UInt8>) { add(bytes) }

    /// Hashes more bytes.
    @inline(__always)
    public mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }

    /// Hashes more bytes.
    public mutating func add(_ bytes: some Sequence<UInt8>) {
        // The loop over a buffer is many times faster than one over an unspecialized sequence.
        let isDone: Void? = bytes.withContiguousStorageIfAvailable { for byte in $0 { add(byte) } }
        if isDone == nil { for byte in bytes { add(byte) } }
    }
}

/// The same as ``Fingerprint`` with 32 bits, for numbers that Postgres computes as well, and for shards.
public struct Fingerprint32: Sendable {
    /// The hash of all bytes so far.
    public private(set) var value: UInt32 = 0x811C_9DC5

    public init() {}

    /// Creates the hash of a text's UTF-8 bytes.
    public init(_ text: String) { add(text) }

    /// Hashes one more byte.
    @inline(__always)
    public mutating func add(_ byte: UInt8) { value = (value ^ UInt32(byte)) &* 0x0100_0193 }

    /// Hashes a text's UTF-8 bytes.
    public mutating func add(_ text: String) { for byte in text.utf8 { add(byte) } }
}

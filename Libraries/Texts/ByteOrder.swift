#if canImport(Darwin)
    public import Darwin
#else
    public import Glibc
#endif

/// Comparison of strings in the manner of BSON: by their UTF-8 bytes. Swift's own operators compare by canonical equivalence, under
/// which two different keys of one document could be equal.
extension String {
    /// Whether both have the same bytes.
    @inlinable
    public func hasSameBytes(as other: String) -> Bool {
        let left = utf8, right = other.utf8
        // Texts of different length, or that aren't canonically equivalent, have different bytes; these are the common and fastest
        // cases.
        guard left.count == right.count, self == other else { return false }
        let areSame = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in
                guard let a = left.baseAddress, let b = right.baseAddress else { return true }
                return memcmp(a, b, left.count) == 0
            }
        }
        // A string that is bridged from Foundation may not have contiguous storage.
        return (areSame ?? nil) ?? left.elementsEqual(right)
    }
}

extension StringProtocol {
    /// Whether this text begins with the bytes of another one. `hasPrefix` compares characters: a combining mark after the prefix
    /// changes its last character.
    @inlinable
    public func startsWithBytes(of prefix: some StringProtocol) -> Bool { utf8.starts(with: prefix.utf8) }

    /// Whether the bytes of another text are anywhere in this one; those of an empty text always are.
    public func containsBytes(of text: some StringProtocol) -> Bool {
        let found = utf8.withContiguousStorageIfAvailable { whole in
            text.utf8.withContiguousStorageIfAvailable { part in
                ByteOrder.contains(UnsafeRawBufferPointer(whole), UnsafeRawBufferPointer(part))
            }
        }
        // As in `hasSameBytes(as:)`.
        if let found, let found { return found }
        return Array(utf8).withUnsafeBytes { whole in
            Array(text.utf8).withUnsafeBytes { ByteOrder.contains(whole, $0) }
        }
    }

    /// The parts between the bytes of an ASCII character, including empty ones. `split` compares characters: a combining mark after
    /// a dot forms a different character with it.
    public func splitAtBytes(_ separator: Unicode.Scalar, maxSplits: Int = .max) -> [String] {
        utf8.split(separator: UInt8(ascii: separator), maxSplits: maxSplits, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }
}

/// Ordering by bytes.
public enum ByteOrder {
    /// Negative, zero or positive if `a` sorts before, equal to or after `b` by UTF-8 bytes; a prefix sorts first.
    public static func compare(_ a: String, _ b: String) -> Int {
        var a = a, b = b
        return a.withUTF8 { a in b.withUTF8 { b in compare(UnsafeRawBufferPointer(a), UnsafeRawBufferPointer(b)) } }
    }

    /// The same for bytes.
    public static func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
        a.withUnsafeBytes { a in b.withUnsafeBytes { b in compare(a, b) } }
    }

    /// Whether the bytes of `part` are anywhere in `whole`.
    static func contains(_ whole: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer) -> Bool {
        guard let first = part.first, let bytes = part.baseAddress, let start = whole.baseAddress else {
            return part.isEmpty
        }
        var index = 0
        // The places of the first byte at which all of `part` has room.
        while index + part.count <= whole.count,
            let place = memchr(start + index, Int32(first), whole.count - part.count + 1 - index)
        {
            if memcmp(place, bytes, part.count) == 0 { return true }
            index = UnsafeRawPointer(place) - start + 1
        }
        return false
    }

    static func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        let common = min(a.count, b.count)
        var index = 0
        while index &+ 8 <= common {
            let left = a.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let right = b.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            if left != right { return UInt64(bigEndian: left) < UInt64(bigEndian: right) ? -1 : 1 }
            index &+= 8
        }
        while index < common {
            if a[index] != b[index] { return a[index] < b[index] ? -1 : 1 }
            index &+= 1
        }
        return a.count < b.count ? -1 : a.count > b.count ? 1 : 0
    }
}

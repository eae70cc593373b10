/// Strings as BSON compares them: by their UTF-8 bytes. Swift's own operators compare by canonical equivalence, under which
/// two different keys of one document could be equal.
extension String {
    /// Whether both have the same bytes.
    @inlinable
    public func hasSameBytes(as other: String) -> Bool {
        // Different under canonical equivalence means different bytes, which is the common and the quick answer.
        guard self == other else { return false }
        return utf8.count == other.utf8.count && ByteOrder.compare(self, other) == 0
    }
}

/// Comparison by bytes.
public enum ByteOrder {
    /// Negative, zero or positive as `a` sorts before, like or after `b` by UTF-8 bytes; a prefix sorts first.
    public static func compare(_ a: String, _ b: String) -> Int {
        var a = a, b = b
        return a.withUTF8 { a in b.withUTF8 { b in compare(UnsafeRawBufferPointer(a), UnsafeRawBufferPointer(b)) } }
    }

    /// As for strings.
    public static func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
        a.withUnsafeBytes { a in b.withUnsafeBytes { b in compare(a, b) } }
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

/// A string that is equal to another only if all bytes are; the key of dictionaries over field names.
public struct FieldName: Hashable, Sendable {
    /// The name itself.
    public let text: String

    /// Wraps a name.
    public init(_ text: String) { self.text = text }

    /// Equality of bytes.
    public static func == (a: FieldName, b: FieldName) -> Bool { a.text.hasSameBytes(as: b.text) }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// A text that is equal to another one only if all bytes are, as Postgres, Kafka and BSON compare.
///
/// Swift's own `==` and `hash` of strings follow canonical equivalence: `caf\u{e9}` equals `cafe\u{301}`, and whoever keys a
/// dictionary by a name, an id or a partition that came from outside gives one user what is another's. So what came from
/// outside is a key, an element of a set or a side of a comparison as this type only. In a structure the attribute is enough:
/// `@ExactText var user: String` makes the equality and the hash that the compiler derives compare bytes.
///
/// It wraps the string and nothing else: to make one allocates nothing.
@propertyWrapper
public struct ExactText: Hashable, Sendable {
    /// The string.
    public var wrappedValue: String

    /// Wraps a string.
    @inlinable public init(wrappedValue: String) { self.wrappedValue = wrappedValue }

    /// Wraps a string.
    @inlinable public init(_ text: some StringProtocol) { wrappedValue = String(text) }

    /// The string.
    @inlinable public var text: String { wrappedValue }

    /// Equality of bytes.
    @inlinable public static func == (a: ExactText, b: ExactText) -> Bool {
        a.wrappedValue.hasSameBytes(as: b.wrappedValue)
    }

    /// Hashes the bytes.
    @inlinable
    public func hash(into hasher: inout Hasher) {
        let isHashed: Void? = wrappedValue.utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if isHashed == nil { Array(wrappedValue.utf8).withUnsafeBytes { hasher.combine(bytes: $0) } }
        // So that two texts in a row are not one text.
        hasher.combine(0xFF as UInt8)
    }
}

extension ExactText: Comparable {
    /// The order of bytes.
    public static func < (a: ExactText, b: ExactText) -> Bool { ByteOrder.compare(a.wrappedValue, b.wrappedValue) < 0 }
}

extension ExactText: CustomStringConvertible, ExpressibleByStringInterpolation {
    /// The string.
    public var description: String { wrappedValue }

    /// The text of a literal.
    public init(stringLiteral value: String) { wrappedValue = value }
}

/// A text that equals another one only if all bytes are equal, as in Postgres, Kafka and BSON.
///
/// Swift's own `==` and `hash` of strings use canonical equivalence: `caf\u{e9}` equals `cafe\u{301}`. So a dictionary whose keys
/// are names, ids or partitions from outside could give one user the data of another. Use texts from outside only as this type in
/// keys, sets and comparisons. In a structure the attribute suffices: `@ExactText var user: String` makes the derived equality and
/// hash compare bytes.
///
/// It only wraps the string, so creating one needs no allocation.
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

    /// Compares the bytes.
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
        // A terminator, so that two consecutive texts hash differently from their concatenation.
        hasher.combine(0xFF as UInt8)
    }
}

extension ExactText: Comparable {
    /// Orders by bytes.
    public static func < (a: ExactText, b: ExactText) -> Bool { ByteOrder.compare(a.wrappedValue, b.wrappedValue) < 0 }
}

extension ExactText: CustomStringConvertible, ExpressibleByStringInterpolation {
    /// The string.
    public var description: String { wrappedValue }

    /// The text of a literal.
    public init(stringLiteral value: String) { wrappedValue = value }
}

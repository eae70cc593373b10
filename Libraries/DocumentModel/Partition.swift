/// The partition that a document is in, inside an app.
///
/// A document without a partition value is in an internal partition of its collection, so that every write has a revision;
/// internal partitions are never synced.
public struct Partition: Hashable, Sendable, CustomStringConvertible {
    /// The partition's text in Postgres, in Kafka keys and on the wire: the `keyText` of the value, or
    /// `i:<database>.<collection>:<bucket>` for an internal one.
    @ExactText public private(set) var text: String

    /// - Parameter value: a string, ObjectId, UUID or integer; for any other value the result is `nil`.
    public init?(value: Value) {
        guard let text = value.keyText else { return nil }
        self.text = text
    }

    public init(text: String) { self.text = text }

    public var isInternal: Bool { text.startsWithBytes(of: "i:") }

    /// The partition key's value; `nil` for an internal partition.
    public var value: Value? { Value(keyText: text) }

    public var description: String { text }
}

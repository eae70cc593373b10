/// The partition that a document is in, inside an app.
///
/// A document without a partition value is in an internal partition of its collection, so that every write has a revision;
/// internal partitions are never synced.
public struct Partition: Hashable, Sendable, CustomStringConvertible {
    /// The partition's text in Postgres, in Kafka keys and on the wire: the `keyText` of the value, `n:` for the null partition, or
    /// `i:<database>.<collection>:<bucket>` for an internal one.
    @ExactText public private(set) var text: String

    /// - Parameter value: a string, ObjectId, UUID, integer or null; for any other value the result is `nil`.
    public init?(value: Value) {
        guard let text = value == .null ? Self.null.text : value.keyText else { return nil }
        self.text = text
    }

    public init(text: String) { self.text = text }

    /// - Parameter text: What a person has given: a partition's text, or a string, as most keys are.
    public init(given text: String) {
        let isText = Partition(text: text).value != nil
        self.init(text: isText ? text : "s:" + text)
    }

    /// The null partition: the documents without the partition key, or with null in it, of an app whose partition key isn't required.
    public static let null = Partition(text: "n:")

    /// What a partition's text looks like, for whoever has sent another one.
    public static let form =
        "a partition is written as the type and value of its key: s:abc for the string abc, o: before an ObjectId, u: before a UUID, l: before an integer, n: for null"

    public var isInternal: Bool { text.startsWithBytes(of: "i:") }

    /// The partition key's value; `nil` for an internal partition.
    public var value: Value? { self == .null ? .null : Value(keyText: text) }

    public var description: String { text }
}

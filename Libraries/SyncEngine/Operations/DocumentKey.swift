import DocumentModel

/// Identifies a document inside a partition: its collection and the text of its `_id`. Two keys are equal when all
/// bytes are.
public struct DocumentKey: Hashable, Comparable, Sendable {
    /// The collection's name.
    @ExactText public private(set) var collection: String
    /// The `_id` as `Value.idText`.
    @ExactText public private(set) var idText: String

    /// - Parameter id: for an array, a regular expression and `undefined` the result is `nil`.
    public init?(collection: String, id: Value) {
        guard let idText = id.idText else { return nil }
        self.collection = collection
        self.idText = idText
    }

    /// - Parameter idText: A text that `Value.idText` made.
    public init(collection: String, idText: String) {
        self.collection = collection
        self.idText = idText
    }

    public static func < (a: Self, b: Self) -> Bool { (a._collection, a._idText) < (b._collection, b._idText) }
}

import DocumentModel

/// Names a document inside a partition: its collection and the text of its `_id`. Two are equal when all bytes are.
public struct DocumentKey: Hashable, Comparable, Sendable {
    /// The collection's name.
    public let collection: String
    /// The `_id` as `Value.idText`.
    public let idText: String

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

    public static func == (a: Self, b: Self) -> Bool {
        a.idText.hasSameBytes(as: b.idText) && a.collection.hasSameBytes(as: b.collection)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(FieldName(collection))
        hasher.combine(FieldName(idText))
    }

    public static func < (a: Self, b: Self) -> Bool {
        let order = ByteOrder.compare(a.collection, b.collection)
        return order == 0 ? ByteOrder.compare(a.idText, b.idText) < 0 : order < 0
    }
}

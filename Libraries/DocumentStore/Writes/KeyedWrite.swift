public import DocumentModel

/// A write of one document whose author knows its `_id`, and the partition that it is in.
public struct KeyedWrite: Sendable {
    /// What is done to the document.
    public enum Change: Sendable {
        /// Inserts the document; it fails if the collection has one with the same `_id`.
        case insert(Document)
        /// Updates the document with operators, if the partition has it.
        case update(Document)
        /// Deletes the document, if the partition has it.
        case delete
    }

    /// The collection.
    public let namespace: ChangeEvent.Namespace
    /// The `_id` as tables have it.
    public let id: String
    let partition: Partition
    let change: Change

    /// - Throws: `DocumentStoreError` (`badId`) if no document can have the `_id`.
    public init(
        _ change: Change, of id: Value, in namespace: ChangeEvent.Namespace, partition: Partition
    ) throws(DocumentStoreError) {
        guard let text = id.storableId else { throw DocumentStoreError(.badId, "a document can't have this _id") }
        self.namespace = namespace
        self.id = text
        self.partition = partition
        self.change = change
    }
}

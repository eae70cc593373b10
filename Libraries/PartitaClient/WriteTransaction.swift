import DocumentModel
import SyncEngine

/// The operations of one write, applied all or nothing, on the device and on the server.
public struct WriteTransaction: Sendable {
    private(set) var operations: [Operation] = []

    /// Inserts a document with its `_id`; onto an existing one it is merged field by field.
    public mutating func insert(_ collection: String, _ document: Document) {
        operations.append(
            Operation(collection: collection, id: document["_id"] ?? .null, kind: .insert(document)))
    }

    /// Changes a document.
    ///
    /// - Parameters:
    ///   - update: MongoDB update operators, such as `["$set": ["text": "hello"], "$inc": ["edits": 1]]`.
    ///   - arrayFilters: The filters of `$[name]`.
    public mutating func update(
        _ collection: String, id: Value, _ update: Document, arrayFilters: [Document] = []
    ) {
        operations.append(
            Operation(collection: collection, id: id, kind: .update(operators: update, arrayFilters: arrayFilters)))
    }

    /// Deletes a document; nothing happens when there is none.
    public mutating func delete(_ collection: String, id: Value) {
        operations.append(Operation(collection: collection, id: id, kind: .delete))
    }
}

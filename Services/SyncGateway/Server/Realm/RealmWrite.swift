import DocumentModel
import DocumentStore
import RealmSync

extension KeyedWrite {
    /// The write of a document that follows from a client's changeset.
    /// - Returns: `nil` if the class is no collection's, or nothing follows. The former is refused before.
    fileprivate init?(
        _ write: DocumentWrite, of key: ObjectKey, in partition: Partition, _ target: UploadTarget
    ) throws {
        guard let collection = target.collections[ExactText(key.table)] else { return nil }
        let change: Change
        switch write {
        case .insert(var document):
            document[target.partitionKey] = target.partition.isNull ? nil : target.partition
            change = .insert(document)
        case .update(let changes):
            let others = changes.filter { !$0.path.hasSameBytes(as: target.partitionKey) }
            if others.isEmpty { return nil }
            change = .update(DocumentWrite.operators(others))
        case .delete: change = .delete
        }
        try self.init(
            change, of: key.id.value, in: .init(database: target.database, collection: collection),
            partition: partition)
    }
}

extension PlannedUploads {
    /// The writes of the documents. All gateways have them in the same order, so that they don't wait for each other in a circle.
    /// - Throws: `DocumentStoreError` (`badId`).
    func writes(_ schema: ObjectSchema, in partition: Partition, _ target: UploadTarget) throws -> [KeyedWrite] {
        let ordered = objects.map { (place: $0.key.place, key: $0.key, change: $0.value) }.sorted {
            ByteOrder.compare($0.place, $1.place) < 0
        }
        return try ordered.compactMap { _, key, change in
            try schema.write(key, from: change.former, to: change.object, moved: moved).flatMap {
                try KeyedWrite($0, of: key, in: partition, target)
            }
        }
    }
}

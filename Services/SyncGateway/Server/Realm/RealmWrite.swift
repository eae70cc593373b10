import DocumentModel
import DocumentStore
import RealmSync

/// The write of a document that follows from a client's changeset.
struct RealmWrite: Sendable {
    private let target: UploadTarget
    let collection: String
    let id: Value
    private let write: DocumentWrite

    /// - Returns: `nil` if the class is no collection's. Such a write is refused before.
    init?(_ write: DocumentWrite, of key: ObjectKey, _ target: UploadTarget) {
        guard let collection = target.collections[ExactText(key.table)] else { return nil }
        self.target = target
        self.collection = collection
        id = key.id.value
        switch write {
        case .insert(var document):
            document[target.partitionKey] = target.partition.isNull ? nil : target.partition
            self.write = .insert(document)
        case .update(let changes):
            self.write = .update(changes.filter { !$0.path.hasSameBytes(as: target.partitionKey) })
        case .delete: self.write = .delete
        }
    }

    /// Performs writes of different documents: the insertions at last, together for each collection.
    /// - Throws: `DocumentStoreError`.
    static func perform(_ writes: [RealmWrite], in session: DocumentSession) async throws {
        var inserted: [ExactText: [Document]] = [:]
        for write in writes {
            switch write.write {
            case .insert(let document): inserted[ExactText(write.collection), default: []].append(document)
            case .update(let changes): try await write.update(changes, in: session)
            case .delete: _ = try await write.documents(in: session).deleteOne(write.filter)
            }
        }
        guard let database = writes.first?.target.database else { return }
        for (collection, documents) in inserted.sorted(by: { ByteOrder.compare($0.key.text, $1.key.text) < 0 }) {
            do {
                _ = try await session.collection(collection.text, database: database).insertMany(documents)
            } catch let error as BulkWriteError {
                throw error.failures.min { $0.key < $1.key }?.value ?? error
            }
        }
    }

    private var filter: Document { ["_id": id, target.partitionKey: target.partition] }

    private func documents(in session: DocumentSession) -> DocumentCollection {
        session.collection(collection, database: target.database)
    }

    private func update(_ changes: [(path: String, value: Value?)], in session: DocumentSession) async throws {
        let update = DocumentWrite.operators(changes)
        if update.isEmpty { return }
        // If the document has gone meanwhile, the history will follow it.
        _ = try await documents(in: session).updateOne(filter, .document(update))
    }
}

extension PlannedUploads {
    /// The writes of the documents. All gateways have them in the same order, so that they don't wait for each other in a circle.
    func writes(_ schema: ObjectSchema, _ target: UploadTarget) -> [RealmWrite] {
        objects.sorted { ByteOrder.compare($0.key.place, $1.key.place) < 0 }.compactMap { key, change in
            schema.write(key, from: change.former, to: change.object).flatMap { RealmWrite($0, of: key, target) }
        }
    }
}

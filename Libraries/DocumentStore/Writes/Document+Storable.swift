import DocumentModel
import SyncEngine

extension Document {
    /// The document as it is inserted, with its `_id` first, which is generated if it is missing, and the `_id`'s key.
    func storable() throws(DocumentStoreError) -> (document: Document, id: String) {
        let value = id ?? RepeatableCall.newID()
        switch value {
        case .array, .regex, .undefined:
            throw DocumentStoreError(
                .badId, "The '_id' value cannot be of type \(value.typeName)", mongoCode: 53, path: "_id")
        case .document(let parts):
            guard let field = parts.fields.first(where: { $0.key.hasPrefix("$") }) else { break }
            throw DocumentStoreError(
                .badId, "_id fields may not contain '$'-prefixed fields: \(field.key) is not valid for storage.",
                mongoCode: 52, path: "_id")
        default: break
        }
        guard let key = value.storableId else { throw .largeId }
        if let first = fields.first, first.key == "_id" { return (self, key) }
        var document = self
        document["_id"] = nil
        document.fields.insert(.init("_id", value), at: 0)
        return (document, key)
    }

    /// The text of the column `body`.
    func checkedBody() throws(DocumentStoreError) -> [UInt8] {
        do throws(StorageRefusal) {
            return try storedBody()
        } catch {
            throw DocumentStoreError(error)
        }
    }
}

extension AppStorage {
    /// Throws the document's violation of the collection's schema, and refuses a partition that no device could open.
    func check(_ document: Document, in namespace: ChangeEvent.Namespace) throws(DocumentStoreError) {
        if let key = partitionKey(of: namespace), let value = document[key], value.keyText != nil,
            value.storableKey == nil
        {
            throw DocumentStoreError(
                .schemaViolation, "a partition has at most 1,024 bytes, and no U+0000", mongoCode: 121, path: key)
        }
        guard let violation = validate(namespace, document) else { return }
        let id = document.id.map { ExtendedJSON.print($0) } ?? "without an _id"
        let place = violation.path.map { $0.isEmpty ? "" : "\($0): " } ?? ""
        throw DocumentStoreError(
            .schemaViolation,
            "the document \(id) of \(namespace.database).\(namespace.collection): \(place)\(violation.reason)",
            mongoCode: 121, path: violation.path)
    }
}

extension DocumentStoreError {
    init(_ refusal: StorageRefusal) {
        switch refusal {
        case .tooLarge: self.init(.documentTooLarge, refusal.message, mongoCode: 10334)
        case .tooDeep: self.init(.badValue, refusal.message, mongoCode: 15, path: refusal.path)
        case .isMisread: self.init(.badValue, refusal.message, mongoCode: 52, path: refusal.path)
        case .holdsNUL: self.init(.badValue, refusal.message, mongoCode: 2, path: refusal.path)
        }
    }

    /// The error for an `_id` that MongoDB accepts but that is too large for an index of Postgres.
    static var largeId: DocumentStoreError {
        DocumentStoreError(.badId, OperationRejection.largeId.reason, mongoCode: 2, path: "_id")
    }

    /// - Parameter document: A document whose `_id` exists already.
    init(duplicateId document: Document, in table: CollectionTable) {
        self.init(
            duplicateIn: table, index: "_id_", keyPattern: ["_id": 1], keyValue: ["_id": document.id ?? .null])
    }
}

import DocumentModel

extension Document {
    /// The document as it is inserted, its `_id` first and made if there is none, and the `_id`'s key.
    func storable() throws(DocumentStoreError) -> (document: Document, id: String) {
        let value = id ?? .objectId(ObjectId())
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
    func storedBody() throws(DocumentStoreError) -> [UInt8] {
        var body: [UInt8] = []
        ExtendedJSON.append(self, mode: .exact, to: &body)
        if body.count > DocumentStore.maximumDocumentBytes {
            throw DocumentStoreError(.documentTooLarge, "a document has at most 16 MiB", mongoCode: 10334)
        }
        return body
    }
}

extension AppStorage {
    /// Throws what the collection's schema says against a document.
    func check(_ document: Document, in namespace: ChangeEvent.Namespace) throws(DocumentStoreError) {
        guard let violation = validate(namespace, document) else { return }
        throw DocumentStoreError(.schemaViolation, violation.reason, mongoCode: 121, path: violation.path)
    }
}

extension DocumentStoreError {
    /// What MongoDB takes as an `_id`, and an index of Postgres doesn't.
    static var largeId: DocumentStoreError {
        DocumentStoreError(.badId, "an _id has at most 1,024 bytes, and no NUL as a string", mongoCode: 2, path: "_id")
    }

    /// - Parameter document: one whose `_id` another one has.
    init(duplicateId document: Document, in table: CollectionTable) {
        self.init(
            duplicateIn: table, index: "_id_", keyPattern: ["_id": 1], keyValue: ["_id": document.id ?? .null])
    }
}

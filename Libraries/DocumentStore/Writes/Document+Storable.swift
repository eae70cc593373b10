import DocumentModel
import Foundation

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
        if Self.mayHoldNUL(body), let path = Value.document(self).pathOfNUL() {
            throw DocumentStoreError(
                .badValue, "U+0000 can stand in strings only: not in a name, in code, or in a regular expression",
                mongoCode: 2,
                path: path)
        }
        return body
    }

    /// Whether there is an escape of U+0000 in the text; few documents have one, and only those are looked through.
    private static func mayHoldNUL(_ body: [UInt8]) -> Bool {
        body.withUnsafeBytes { bytes in
            guard var place = bytes.baseAddress else { return false }
            let end = place + bytes.count
            while let escape = memchr(place, 0x5C, end - place).map({ UnsafeRawPointer($0) }) {
                if end - escape >= 6, memcmp(escape + 1, "u0000", 5) == 0 { return true }
                place = escape + 1
            }
            return false
        }
    }
}

extension AppStorage {
    /// Throws what the collection's schema says against a document, and refuses a partition that no device could open.
    func check(_ document: Document, in namespace: ChangeEvent.Namespace) throws(DocumentStoreError) {
        if let key = partitionKey(of: namespace), let value = document[key], value.keyText != nil,
            value.storableKey == nil
        {
            throw DocumentStoreError(
                .schemaViolation, "a partition has at most 1,024 bytes, and no U+0000", mongoCode: 121, path: key)
        }
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

extension Value {
    /// The dotted path of the first U+0000 where `jsonb` has no place for it: everywhere but in strings.
    fileprivate func pathOfNUL(below path: String = "") -> String? {
        func join(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
        switch self {
        case .document(let document):
            for field in document.fields {
                if field.key.utf8.contains(0) { return join(field.key.replacing("\0", with: "\u{FFFD}")) }
                if let found = field.value.pathOfNUL(below: join(field.key)) { return found }
            }
            return nil
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                if let found = element.pathOfNUL(below: join("\(index)")) { return found }
            }
            return nil
        case .code(let code):
            if code.source.utf8.contains(0) { return path }
            return code.scope.flatMap { Value.document($0).pathOfNUL(below: path) }
        case .regex(let expression):
            return expression.pattern.utf8.contains(0) || expression.options.utf8.contains(0) ? path : nil
        case .dbPointer(let pointer): return pointer.namespace.utf8.contains(0) ? path : nil
        default: return nil
        }
    }
}

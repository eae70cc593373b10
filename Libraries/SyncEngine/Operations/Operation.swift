import DocumentModel

/// One insert, update or delete of one document, as a device made it.
public struct Operation: Sendable {
    /// What the operation does to its document.
    public enum Kind: Sendable {
        /// Inserts a whole document; onto an existing one it is merged field by field.
        case insert(Document)
        /// Applies MongoDB update operators; each array filter binds one `$[name]` of them.
        case update(operators: Document, arrayFilters: [Document])
        /// Deletes the document.
        case delete
    }

    /// The collection's name in the app's synced database.
    public var collection: String
    /// The document's `_id`.
    public var id: Value
    /// What to do.
    public var kind: Kind
    /// The incarnation that the device saw. `nil` when the device itself inserted the document and has not received it back.
    public var incarnation: Revision?
    /// The document's revision that the device had seen when it made the operation. `nil` when it had seen none.
    public var base: Revision?

    public init(collection: String, id: Value, kind: Kind, incarnation: Revision? = nil, base: Revision? = nil) {
        self.collection = collection
        self.id = id
        self.kind = kind
        self.incarnation = incarnation
        self.base = base
    }

    /// The partition that an update names as the document's new one, if it does.
    /// - Parameter field: The partition key.
    public func target(by field: String) -> Partition? {
        guard case .update(let operators, _) = kind else { return nil }
        if operators["$unset"]?[field] != nil { return .null }
        return operators["$set"]?[field].flatMap { Partition(value: $0) }
    }

    /// The document that the operation refers to.
    ///
    /// `nil` when the `_id` is of a type that can't be a key.
    public var key: DocumentKey? { DocumentKey(collection: collection, id: id) }
}

public import DocumentModel
import Postgres
public import QueryLanguage

/// A collection of an app, for functions, the data API and services. Every call outside a session is a transaction of its own.
public struct DocumentCollection: Sendable {
    public let namespace: ChangeEvent.Namespace
    let store: DocumentStore
    let app: String
    let session: DocumentSession?

    // MARK: Reading

    /// The documents that match, at most as many as fit into 64 MiB.
    /// - Throws: ``DocumentStoreError`` or ``QueryError``.
    public func find(_ query: FindQuery = FindQuery()) async throws -> [Document] {
        try await reading { try await $0.find(query, in: namespace) }
    }

    public func findOne(_ filter: Filter, sort: Sort? = nil) async throws -> Document? {
        try await find(FindQuery(filter, sort: sort, limit: 1)).first
    }

    public func count(_ filter: Filter = .all, limit: Int? = nil) async throws -> Int {
        try await reading { try await $0.count(filter, limit: limit, in: namespace) }
    }

    /// The different values at a path, in MongoDB's order; the elements of arrays count each for itself.
    public func distinct(_ field: String, _ filter: Filter = .all) async throws -> [Value] {
        let path = Path(field)
        var values: Set<Value> = []
        for document in try await find(FindQuery(filter)) {
            for value in document.values(reachedBy: path) { values.insert(value) }
        }
        return values.sorted { Value.compare($0, $1) < 0 }
    }

    // MARK: Writing

    /// Inserts documents, all or none. One without an `_id` gets an ObjectId.
    /// - Returns: the `_id`s in the order of the documents.
    /// - Throws: ``DocumentStoreError``, code `duplicateKey` where an `_id` exists.
    @discardableResult
    public func insert(_ documents: [Document]) async throws -> [Value] {
        try await writing { try await $0.insert(documents, in: namespace) }
    }

    /// Updates the first document that matches, or all.
    /// - Parameter isUpsert: inserts a document where none matches.
    @discardableResult
    public func update(
        _ filter: Filter, _ update: Update, many: Bool = false, isUpsert: Bool = false
    ) async throws -> UpdateResult {
        try await writing { try await $0.update(filter, update, many: many, isUpsert: isUpsert, in: namespace) }
    }

    /// Deletes the first document that matches, or all.
    /// - Returns: how many were deleted.
    @discardableResult
    public func delete(_ filter: Filter, many: Bool = false) async throws -> Int {
        try await writing { try await $0.delete(filter, many: many, in: namespace) }
    }

    /// Changes the first document that matches, in the order of `sort`, and returns it.
    public func findOneAndUpdate(
        _ filter: Filter, _ update: Update, sort: Sort? = nil, isUpsert: Bool = false, returning: ReturnedDocument = .before
    ) async throws -> Document? {
        try await writing {
            try await $0.findOneAndUpdate(filter, update, sort: sort, isUpsert: isUpsert, returning: returning, in: namespace)
        }
    }

    /// Deletes the first document that matches, in the order of `sort`, and returns it.
    public func findOneAndDelete(_ filter: Filter, sort: Sort? = nil) async throws -> Document? {
        try await writing { try await $0.findOneAndDelete(filter, sort: sort, in: namespace) }
    }

    private func reading<R: Sendable>(_ body: @Sendable (DocumentSession) async throws -> R) async throws -> R {
        if let session { return try await body(session) }
        return try await body(DocumentSession(reading: store, app: app))
    }

    private func writing<R: Sendable>(_ body: @Sendable (DocumentSession) async throws -> R) async throws -> R {
        if let session { return try await body(session) }
        return try await store.transaction(app: app, body)
    }
}

extension DocumentStore {
    /// A collection, outside any session.
    public func collection(_ namespace: ChangeEvent.Namespace, app: String) -> DocumentCollection {
        DocumentCollection(namespace: namespace, store: self, app: app, session: nil)
    }
}

extension Document {
    /// What a path leads to, through arrays as MongoDB's paths do; a final array gives its elements.
    fileprivate func values(reachedBy path: Path) -> [Value] {
        var reached: [Value] = [.document(self)]
        for component in path.components {
            reached = reached.flatMap { value -> [Value] in
                switch value {
                case .document(let document): document[component.name].map { [$0] } ?? []
                case .array(let elements):
                    elements.compactMap { $0.documentValue?[component.name] }
                        + (component.index.flatMap { elements.indices.contains($0) ? [elements[$0]] : nil } ?? [])
                default: []
                }
            }
        }
        return reached.flatMap { value -> [Value] in
            if case .array(let elements) = value { elements } else { [value] }
        }
    }
}

import DocumentModel

/// The results of a query at one time.
public struct DocumentSnapshot: Sendable {
    /// All matching documents, in a stable order.
    public var documents: [Document]
    /// The documents that were added since the previously read snapshot.
    public var inserted: [Document]
    /// The documents that changed since then.
    public var modified: [Document]
    /// The `_id`s of the documents that were removed since then.
    public var deleted: [Value]
}

/// The results of a query, now and after every change.
public struct DocumentSnapshots: AsyncSequence, Sendable {
    public typealias Element = DocumentSnapshot
    public typealias Failure = Never

    let stream: AsyncStream<[Document]>

    public func makeAsyncIterator() -> Iterator { Iterator(iterator: stream.makeAsyncIterator()) }

    /// Compares each snapshot with the previously read one.
    public struct Iterator: AsyncIteratorProtocol {
        var iterator: AsyncStream<[Document]>.Iterator
        private var before: [Value: Document] = [:]

        init(iterator: AsyncStream<[Document]>.Iterator) { self.iterator = iterator }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> DocumentSnapshot? {
            guard let documents = await iterator.next(isolation: actor) else { return nil }
            var snapshot = DocumentSnapshot(documents: documents, inserted: [], modified: [], deleted: [])
            var now: [Value: Document] = [:]
            for document in documents {
                let id = document["_id"] ?? .null
                now[id] = document
                if let former = before.removeValue(forKey: id) {
                    if !former.isIdentical(to: document) { snapshot.modified.append(document) }
                } else {
                    snapshot.inserted.append(document)
                }
            }
            snapshot.deleted = before.keys.sorted()
            before = now
            return snapshot
        }

        public mutating func next() async -> DocumentSnapshot? { await next(isolation: nil) }
    }
}

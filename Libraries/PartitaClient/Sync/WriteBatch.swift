import DocumentModel
import QueryLanguage
import SyncEngine

/// The operations of one write, checked against the documents as the app sees them.
struct WriteBatch {
    let bookkeeping: DevicePartition
    /// The time of the write.
    let clock: HybridTime
    private(set) var operations: [Operation] = []
    private var earlier: [DocumentKey: [Operation]] = [:]
    private var shown: [DocumentKey: Document?] = [:]

    init(bookkeeping: DevicePartition, clock: HybridTime) {
        self.bookkeeping = bookkeeping
        self.clock = clock
    }

    /// Adds an operation.
    ///
    /// - Parameters:
    ///   - server: The server's document.
    ///   - shown: The document as the app sees it before the write.
    /// - Throws: `badWrite` for an operation that can't be applied to that document.
    mutating func add(
        _ operation: Operation, _ key: DocumentKey, server: ServerDocument?, shown before: Document?
    ) throws(PartitaError) {
        let present = shown[key] ?? before
        let stamped = bookkeeping.stamped(operation, server: server, after: earlier[key] ?? [])
        switch operation.kind {
        case .insert(let document):
            guard document["_id"]?.idText.map(key.idText.hasSameBytes) == true else {
                throw PartitaError(code: .badWrite, message: "a document is inserted with its _id")
            }
            try Self.require { () throws(StorageRefusal) in _ = try document.storedBody() }
            shown[key] = document
        case .update(let operators, let arrayFilters):
            guard var updated = present else {
                throw PartitaError(code: .badWrite, message: "there is no document \(key.collection)/\(key.idText)")
            }
            do throws(QueryError) {
                _ = try Update(operators, arrayFilters: arrayFilters)
                    .apply(to: &updated, now: clock.milliseconds)
            } catch {
                throw PartitaError(code: .badWrite, message: error.message)
            }
            let written = updated
            try Self.require { () throws(StorageRefusal) in
                for part in [operators] + arrayFilters {
                    if let unreadable = part.unreadable(levels: 5) { throw unreadable }
                }
                _ = try written.storedBody()
            }
            shown[key] = updated
        case .delete:
            if present == nil { return }  // nothing to do
            shown[key] = .some(nil)
        }
        operations.append(stamped)
        earlier[key, default: []].append(stamped)
    }

    /// Refuses what the server would reject or couldn't parse, before it can block the queue of uploads.
    private static func require(_ check: () throws(StorageRefusal) -> Void) throws(PartitaError) {
        do {
            try check()
        } catch {
            throw PartitaError(code: .badWrite, message: error.message)
        }
    }
}

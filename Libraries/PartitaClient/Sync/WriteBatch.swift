import DocumentModel
import QueryLanguage
import SyncEngine

/// The operations of one write, checked against what the device shows.
struct WriteBatch {
    let bookkeeping: DevicePartition
    /// When it is written.
    let clock: HybridTime
    private(set) var operations: [Operation] = []
    private var shown: [DocumentKey: Document?] = [:]

    init(bookkeeping: DevicePartition, clock: HybridTime) {
        self.bookkeeping = bookkeeping
        self.clock = clock
    }

    /// Adds an operation.
    ///
    /// - Parameters:
    ///   - server: The server's document.
    ///   - shown: The document that is shown before the write.
    /// - Throws: `badWrite` for what can't be applied to the document as it is shown.
    mutating func add(
        _ operation: Operation, _ key: DocumentKey, server: ServerDocument?, shown before: Document?
    ) throws(PartitaError) {
        let present = shown[key] ?? before
        let stamped = bookkeeping.stamped(operation, server: server, after: operations)
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
    }

    /// What the server would refuse, or couldn't even read, is refused before it stands at the head of a queue.
    private static func require(_ check: () throws(StorageRefusal) -> Void) throws(PartitaError) {
        do {
            try check()
        } catch {
            throw PartitaError(code: .badWrite, message: error.message)
        }
    }
}

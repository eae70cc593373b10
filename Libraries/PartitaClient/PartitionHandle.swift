import DocumentModel
import QueryLanguage
import SyncEngine
import Synchronization

/// A partition that the app has open: its documents on this device, which sync while the session is connected.
public final class PartitionHandle: Sendable {
    /// The partition that is open.
    public let partition: Partition
    private let session: SyncClient
    private let isClosed = Atomic<Bool>(false)

    init(partition: Partition, client: SyncClient) {
        self.partition = partition
        session = client
    }

    /// - Throws: `closed` after ``close()``.
    private var client: SyncClient {
        get throws(PartitaError) {
            if isClosed.load(ordering: .acquiring) {
                throw PartitaError(code: .closed, message: "this handle of the partition was closed")
            }
            return session
        }
    }

    // MARK: Reading

    /// The documents of a collection that match a filter, the device's own unsent writes included.
    ///
    /// - Throws: `PartitaError`: `revoked`, `closed`, `store`; `QueryError` for a malformed filter.
    public func find(_ collection: String, _ filter: Document = [:]) async throws -> [Document] {
        try await client.find(partition, collection, Filter(filter))
    }

    /// One document; `nil` when there is none.
    public func document(_ collection: String, id: Value) async throws -> Document? {
        guard let key = DocumentKey(collection: collection, id: id) else { return nil }
        return try await client.document(partition, key)
    }

    /// The documents of a collection that match a filter, now and after every change. A slow reader gets the newest state, with
    /// the changes since the one that it read before.
    public func observe(_ collection: String, _ filter: Document = [:]) async throws -> DocumentSnapshots {
        DocumentSnapshots(stream: try await client.observe(partition, collection, Filter(filter)))
    }

    // MARK: Writing

    /// Writes on this device, at once and durably, online or not; the server gets it as one changeset.
    ///
    /// - Parameter body: Adds the operations to write. When it throws, nothing is written.
    /// - Returns: The changeset's version; `nil` when there was nothing to do.
    /// - Throws: `PartitaError` with code `badWrite` for an operation that can't be applied; nothing is written then.
    @discardableResult
    public func write(_ body: (inout WriteTransaction) throws -> Void) async throws -> Int64? {
        var transaction = WriteTransaction()
        try body(&transaction)
        if transaction.operations.isEmpty { return nil }
        return try await client.write(partition, transaction.operations)
    }

    /// The changesets that the server's state on this device doesn't contain yet.
    public func pending() async throws -> [PendingChangeset] {
        Array(try await client.opened(partition).bookkeeping.pending)
    }

    /// The changesets that the server rejected and that the app has neither retried nor discarded.
    public func rejected() async throws -> [RejectedChangeset] { try await client.rejected(partition) }

    /// Writes the operations of a rejected changeset again, as a new one.
    ///
    /// - Returns: The new version; `nil` if it was retried or discarded before.
    @discardableResult
    public func retry(_ rejected: RejectedChangeset) async throws -> Int64? { try await client.retry(rejected) }

    /// Removes a rejected changeset from the list.
    public func discard(_ rejected: RejectedChangeset) async throws { try await client.discard(rejected) }

    // MARK: Sync

    /// The state of the partition, now and after every change; a slow reader gets only the newest.
    public func states() async throws -> AsyncStream<PartitionState> { try await client.states(of: partition) }

    /// Waits until the server has confirmed that the user may read the partition; without limit while there is no connection.
    ///
    /// - Throws: `PartitaError` with code `revoked`, and the reason as its `serverCode`; with code `refused`, if the gateway doesn't
    ///   serve it, or has ended the connection for good (``PartitionState/refusal``); with code `signedOut` or `closed`;
    ///   `CancellationError`.
    public func waitForAnswer() async throws { try await wait { $0.isSubscribed } }

    /// Waits until the device has received the partition's whole state at least once.
    ///
    /// - Throws: As `waitForAnswer`.
    public func waitForFirstSync() async throws { try await wait { $0.isSynced } }

    /// Waits until the server has answered every write.
    ///
    /// - Throws: As `waitForAnswer`.
    public func waitForUploads() async throws { try await wait { $0.unanswered == 0 } }

    private func wait(until condition: (PartitionState) -> Bool) async throws {
        for await state in try await states() {
            if let reason = state.revoked {
                throw PartitaError(code: .revoked, message: "the partition may not be read", serverCode: reason)
            }
            if condition(state) { return }
            if let refusal = state.refusal { throw refusal }
        }
        try Task.checkCancellation()
        throw PartitaError(code: .closed, message: "the partition was closed")
    }

    /// Closes this handle; closing the last one of a partition ends its sync. The data stays on the device. Closing it again does
    /// nothing.
    public func close() async {
        if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
        await session.close(partition)
    }
}

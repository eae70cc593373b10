public import DocumentModel
import EventLoop
public import Lifecycle
public import Logging
public import Postgres
import StoreSQL
public import SyncEngine

/// Documents, partitions, changes and revisions on Postgres.
///
/// Every write goes through one path: the document's row in both its forms, the partition's next revision, and a change row that
/// the outbox relay publishes, in one transaction. Locks are taken in one order: documents by `_id`, then, just before the
/// commit, partitions in the order of their names.
public final class DocumentStore: Service {
    /// The tables and functions of the store. Every service that uses a store applies them at its start, and so does `partita
    /// setup`.
    public static let migrations = StoreSQL.migrations

    /// The largest document, in bytes of its canonical text.
    public static let maximumDocumentBytes = Document.maximumBodyBytes

    /// The most bytes of documents that a transaction may read and write.
    let maximumTransactionBytes: Int
    /// The connections to the store's database.
    public let client: PostgresClient
    /// The time of day: `$$NOW`, and the stamps of the server's own writes.
    public let clock: WallClock
    let tables: CollectionTables
    let logger: Logger
    private let apps = Locked<[ExactText: AppStorage]>([:])
    private let notifier: CommitNotifier
    /// Failures of operations that the database has to be repaired for. The caller gets each of them; it is logged only when it
    /// changes.
    let failures = Locked(FailureChanges())
    let uploadFaults = UploadFaults()

    private struct Observers {
        var commits: [Int: @Sendable (String, [CommittedHead]) -> Set<PartitionKey>] = [:]
        var uploads: [Int: @Sendable (WritePlan, [CommittedHead]) -> Void] = [:]
        var next = 0
    }
    private let observers = Locked(Observers())

    /// - Parameters:
    ///   - client: Connections to a database that ``migrations`` were applied to.
    ///   - maximumTransactionBytes: The most bytes of documents that a transaction may read and write, since it holds them in
    ///     memory.
    public init(
        client: PostgresClient, maximumTransactionBytes: Int = 256 << 20, clock: WallClock = .system,
        logger: Logger = Logger(label: "document-store")
    ) {
        self.client = client
        self.clock = clock
        self.maximumTransactionBytes = maximumTransactionBytes
        self.logger = logger
        tables = CollectionTables(client: client)
        notifier = CommitNotifier(client: client)
    }

    /// Registers an app with the store, or replaces the app's definition.
    public func define(_ storage: AppStorage) {
        let former = apps.withLock { $0.updateValue(storage, forKey: ExactText(storage.app)) }
        // The tables' triggers have to be created again with the new partition key.
        if former.map({ !$0.hasSamePartitions(as: storage) }) ?? false { tables.forget(app: storage.app) }
    }

    /// Removes an app's definition; the app's documents stay.
    public func undefine(app: String) { apps.withLock { $0[app] = nil } }

    /// The definition that ``define(_:)`` registered for an app.
    public func storage(of app: String) throws(DocumentStoreError) -> AppStorage {
        guard let storage = apps.withLock({ $0[app] }) else {
            throw DocumentStoreError(.unknownApp, "the app \(app) is not deployed")
        }
        return storage
    }

    /// Creates the table of a collection if it doesn't exist.
    public func ensureCollection(_ namespace: ChangeEvent.Namespace, app: String) async throws {
        _ = try await tables.ensured(namespace, of: storage(of: app))
    }

    // MARK: After commits

    /// Does the store's background work until graceful shutdown or cancellation: announces its commits to the relays of other
    /// processes, and creates the tables for the changes of the coming days. A process that writes must run it.
    public func run() async throws {
        try await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.notifier.run() }
                group.addTask { await self.makeChangeTables() }
                await group.waitForAll()
            }
        }
    }

    private func makeChangeTables() async {
        while !Task.isCancelled {
            do {
                try await client.execute("select partita.ensure_change_tables(7)")
            } catch {
                logger.warning("tables for changes could not be created", metadata: ["error": "\(error)"])
            }
            // If the task was cancelled, the loop's condition ends the loop.
            try? await Task.sleep(for: .seconds(3600))
        }
    }

    /// Calls `observer` after each commit of this store with the app and the heads that the commit moved, until the observation is
    /// cancelled. The observer returns the partitions that it will publish; the others are announced to other processes.
    public func observeCommits(
        _ observer: @escaping @Sendable (String, [CommittedHead]) -> Set<PartitionKey>
    ) -> CommitObservation { add(observer, to: \.commits) }

    /// Calls `observer` after each commit of devices' uploads by this store with what was written and the heads that the commit moved,
    /// until the observation is cancelled. Commits of one partition may be reported out of their order.
    public func observeUploads(
        _ observer: @escaping @Sendable (WritePlan, [CommittedHead]) -> Void
    ) -> CommitObservation { add(observer, to: \.uploads) }

    private func add<Observer: Sendable>(
        _ observer: Observer, to place: any WritableKeyPath<Observers, [Int: Observer]> & Sendable
    ) -> CommitObservation {
        let id = observers.withLock { observers in
            observers.next += 1
            observers[keyPath: place][observers.next] = observer
            return observers.next
        }
        return CommitObservation { [observers] in observers.withLock { $0[keyPath: place][id] = nil } }
    }

    func committed(_ heads: [CommittedHead], app: String, plan: WritePlan? = nil) {
        if heads.isEmpty { return }
        if let plan { for observer in observers.withLock({ Array($0.uploads.values) }) { observer(plan, heads) } }
        var open = Set(heads.map { PartitionKey(app: app, partition: $0.partition) })
        for observer in observers.withLock({ Array($0.commits.values) }) { open.subtract(observer(app, heads)) }
        if !open.isEmpty { notifier.announce(open) }
    }
}

/// An observation of commits, which lasts until ``cancel`` is called.
public struct CommitObservation: Sendable {
    /// Ends the observation; further calls do nothing.
    public let cancel: @Sendable () -> Void
}

public import DocumentModel
import EventLoop
public import Logging
public import Postgres

/// Documents, partitions, changes and revisions on Postgres.
///
/// Every write goes through one path: the document's row in both its forms, the partition's next revision, and a change row that
/// the outbox relay publishes, in one transaction. Locks are taken in one order: documents by `_id`, then, just before the
/// commit, partitions in the order of their names.
public final class DocumentStore: Sendable {
    /// The largest document, in bytes of its canonical text.
    public static let maximumDocumentBytes = 16 << 20

    let client: PostgresClient
    let tables: CollectionTables
    let logger: Logger
    private let apps = Locked<[String: AppStorage]>([:])
    private let observers = Locked<[@Sendable (String, [CommittedHead]) -> Void]>([])

    /// - Parameter client: Of a database that ``DocumentStoreMigrations`` were applied to.
    public init(client: PostgresClient, logger: Logger = Logger(label: "document-store")) {
        self.client = client
        self.logger = logger
        tables = CollectionTables(client: client)
    }

    /// Tells the store about an app, or about the app's new definition.
    public func define(_ storage: AppStorage) { apps.withLock { $0[storage.app] = storage } }

    /// Forgets an app.
    public func undefine(app: String) { apps.withLock { $0[app] = nil } }

    /// What the store was told about an app.
    public func storage(of app: String) throws(DocumentStoreError) -> AppStorage {
        guard let storage = apps.withLock({ $0[app] }) else {
            throw DocumentStoreError(.unknownApp, "the app \(app) is not deployed")
        }
        return storage
    }

    /// Makes the table of a collection, if there is none.
    public func ensureCollection(_ namespace: ChangeEvent.Namespace, app: String) async throws {
        _ = try await tables.ensured(namespace, of: storage(of: app))
    }

    /// Calls `observer` after each commit of this store with the app and the heads that it moved: what wakes the relay.
    func observeCommits(_ observer: @escaping @Sendable (String, [CommittedHead]) -> Void) {
        observers.withLock { $0.append(observer) }
    }

    func committed(_ heads: [CommittedHead], app: String) {
        if heads.isEmpty { return }
        for observer in observers.withLock({ $0 }) { observer(app, heads) }
    }
}

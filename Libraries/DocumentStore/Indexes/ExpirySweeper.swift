import DocumentModel
public import Lifecycle
public import Logging
import Metrics
import Postgres

/// Deletes documents whose date at the path of an index with `expireAfterSeconds` is past.
///
/// Each deletion is a write like any other, with a revision and a change row, so that devices and triggers see it. Any number of
/// sweepers may run: one at a time holds the lease, which each of its transactions checks and holds until the commit.
public final class ExpirySweeper: Service {
    private static let batch = 500

    private let store: DocumentStore
    private let interval: Duration
    private let logger: Logger
    private let leases: WorkLeases
    private let expired = Counter(
        label: "document_store_expired_documents_total", help: "Documents that were deleted since their date was past.")

    /// - Parameters:
    ///   - store: The store whose apps are swept; apps that are not defined in it are skipped.
    ///   - interval: The time from the end of one sweep to the start of the next.
    public init(
        store: DocumentStore, interval: Duration = .seconds(60), logger: Logger = Logger(label: "expiry-sweeper")
    ) {
        self.store = store
        leases = WorkLeases("expiry", client: store.client)
        self.interval = interval
        self.logger = logger
    }

    /// Sweeps until graceful shutdown or cancellation.
    public func run() async throws {
        try await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await self.sweep()
                } catch is CancellationError {
                    return
                } catch {
                    self.logger.warning("a sweep for expired documents failed", metadata: ["error": "\(error)"])
                }
                // If the task was cancelled, the loop's condition ends the loop.
                try? await Task.sleep(for: self.interval)
            }
        }
    }

    /// Deletes the documents that have expired, unless another process is sweeping, and returns their number.
    @discardableResult
    public func sweep() async throws -> Int {
        var total = 0
        for index in try await indexes() {
            // Acquired again for each index; a batch that commits after the lease's end is rolled back.
            guard let fence = try await leases.acquire(for: .seconds(60))[0] else { return total }
            var count = 0
            repeat {
                do {
                    count = try await delete(index, fence: fence)
                } catch let error as DocumentStoreError where error.isRetriable {
                    break  // another transaction has locked a document; the next sweep finds it
                }
                total += count
                expired.increment(by: count)
            } while count == Self.batch && !Task.isCancelled
        }
        return total
    }

    private struct Expiring {
        var collection: DocumentCollection
        var path: String
        var seconds: Int64
    }

    private func indexes() async throws -> [Expiring] {
        let rows = try await store.client.query(
            """
            select app, database, collection, specification::text from partita.indexes
            where is_ready and specification -> 'expireAfterSeconds' is not null order by app, database, collection, name
            """)
        return try rows.compactMap { row in
            let (app, database, collection, text) = try row.decode((String, String, String, String).self)
            guard (try? store.storage(of: app)) != nil else { return nil }  // not deployed here
            let model = try IndexModel(ExtendedJSON.parseDocument(text))
            guard let seconds = model.expireAfterSeconds, let key = model.keys.first else { return nil }
            return Expiring(
                collection: store.collection(collection, database: database, app: app), path: key.path, seconds: seconds
            )
        }
    }

    private func delete(_ index: Expiring, fence: Int64) async throws -> Int {
        let now = try await store.client.query("select (extract(epoch from now()) * 1000)::bigint").first?
            .decode(0, as: Int64.self)
        guard let now else { return 0 }
        let target = try await index.collection.target(
            [index.path: ["$lt": .date(now - index.seconds * 1000)]], DeleteOptions())
        let hook: CommitHook = { [leases] transaction in
            guard try await leases.isHeld(fence: fence, in: transaction) else {
                throw DocumentStoreError(.conflict, "another process sweeps now")
            }
        }
        return try await index.collection.write(beforeCommit: hook) { session in
            let (keys, _) = try await session.lockMatches(of: target, after: nil, limit: Self.batch)
            for key in keys { _ = try await session.delete(key, from: target.table) }
            return keys.count
        }
    }
}

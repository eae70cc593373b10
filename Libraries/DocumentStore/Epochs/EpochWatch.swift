import EventLoop
public import Lifecycle
public import Logging
public import Postgres

/// Tracks the database's epoch, and finds out when the database has gone back to an earlier state under a running process.
///
/// After a failover to a standby that lacks the last commits, or when a snapshot of the data directory has replaced it, what a process has
/// in memory belongs to a history that no longer exists: heads, grants, apps, which events are handled. So the epoch is checked on each
/// new connection before anything else uses it (``check(on:isFirst:)`` is meant for `PostgresConfiguration.prepare`), since such a
/// change ends all connections; and once a second, since an epoch can also begin on a running server.
///
/// Postgres' system identifier and timeline tell a failover. A snapshot has the same ones as the original; it is recognized by the
/// position in the write-ahead log, which is behind the last one that this process saw. Of two standbys that take over one after the other,
/// each begins an epoch at a time of its own.
public final class EpochWatch: Sendable {
    /// Another epoch has begun.
    public struct Change: Sendable {
        public let former: Int32
        public let epoch: Int32
        /// Whether commits may be gone; otherwise the epoch began so that devices download everything again.
        public let isLoss: Bool
    }

    private struct State {
        var epoch: Int32?
        /// What the last check found.
        var checked: (epoch: Int32, start: Int64, position: Int64)?
        var observers: [@Sendable (Change) -> Void] = []
    }

    private let logger: Logger
    private let state = Locked(State())
    private static let interval = Duration.seconds(1)

    public init(logger: Logger) { self.logger = logger }

    /// The present epoch, as far as this process knows; `nil` before the first check.
    public var epoch: Int32? { state.withLock { $0.epoch } }

    /// - Parameter body: called on any thread; twice for one epoch if it was first seen by a read and is a loss.
    public func onChange(_ body: @escaping @Sendable (Change) -> Void) { state.withLock { $0.observers.append(body) } }

    /// Reports that a read of the store saw this epoch. The next check determines whether it is a loss.
    public func saw(_ epoch: Int32) { note(epoch, isLoss: false) }

    /// Compares the database with what this process last saw of it, and begins an epoch if its log is behind.
    /// - Parameter isFirst: whether to check also if nothing was seen before; the tables must exist then.
    public func check(on client: some PostgresQuerying, isFirst: Bool = false) async throws {
        let known = state.withLock { $0.checked }
        guard isFirst || known != nil else { return }
        let rows = try await client.query(
            "select epoch, start, log_position, is_loss from partita.epoch_after($1, $2, $3)",
            [
                PostgresValue(known.map { Int64($0.epoch) }), PostgresValue(known?.start),
                PostgresValue(known?.position),
            ])
        guard let row = rows.first else { throw DocumentStoreError(.corruptRow, "no epoch") }
        let (epoch, start, position, isLoss) = try row.decode((Int32, Int64, Int64, Bool).self)
        state.withLock { state in
            // Checks may end in another order than they began.
            if let checked = state.checked, checked.epoch > epoch { return }
            let former = state.checked.map { $0.epoch == epoch ? $0.position : 0 } ?? 0
            state.checked = (epoch, start, max(position, former))
        }
        note(epoch, isLoss: isLoss)
    }

    private func note(_ epoch: Int32, isLoss: Bool) {
        let (former, observers) = state.withLock { state in
            let former = state.epoch ?? epoch
            // An older one comes from a read that began before the change.
            state.epoch = max(former, epoch)
            return (former, state.observers)
        }
        guard former < epoch || isLoss else { return }
        logger.log(
            level: isLoss ? .warning : .notice,
            isLoss ? "another epoch of the database, which may have lost commits" : "another epoch of the database",
            metadata: ["epoch": "\(epoch)", "epoch.former": "\(former)"])
        for observer in observers { observer(Change(former: former, epoch: epoch, isLoss: isLoss)) }
    }

    /// Checks once a second until graceful shutdown or cancellation.
    /// - Parameter client: of a database that was checked before.
    public func watching(_ client: PostgresClient) -> any Service { Watching(watch: self, client: client) }

    private struct Watching: Service {
        let watch: EpochWatch
        let client: PostgresClient

        func run() async throws {
            try? await cancelWhenGracefulShutdown { await repeatedly() }  // ends by cancellation only
        }

        private func repeatedly() async {
            var backoff = RetryBackoff(RetrySchedule(first: EpochWatch.interval, limit: .seconds(30)))
            while !Task.isCancelled {
                var pause = EpochWatch.interval
                do {
                    try await watch.check(on: client)
                    backoff.reset()
                } catch {
                    watch.logger.debug("the epoch is unknown for now", metadata: ["error": "\(error)"])
                    pause = backoff.next()
                }
                try? await Task.sleep(for: pause)  // cancelled: the loop's condition ends it
            }
        }
    }
}

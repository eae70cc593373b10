import DocumentStore
import EventLoop
import Lifecycle
import Logging

/// Knows the database's epoch, and ends every session when it is another one: what devices have, and what this process holds of
/// their partitions, belongs to the former one. They connect again, and begin with their checkpoints.
///
/// Who reads from the store says what epoch it saw; besides, the database is asked every second.
final class EpochWatch: Service {
    private struct State {
        var epoch: Int32?
        var onChange: (@Sendable () -> Void)?
    }

    private let store: DocumentStore
    private let logger: Logger
    private let state = Locked(State())
    private static let interval = Duration.seconds(1)

    init(store: DocumentStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// - Parameter body: ends the sessions; called on any thread.
    func onChange(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onChange = body } }

    /// The store was read in this epoch.
    func saw(_ epoch: Int32) {
        let change: (former: Int32, tell: (@Sendable () -> Void)?)? = state.withLock { state in
            defer { state.epoch = epoch }
            guard let former = state.epoch, former != epoch else { return nil }
            return (former, state.onChange)
        }
        guard let change else { return }
        logger.notice(
            "another epoch of the database: all sessions end",
            metadata: ["epoch": "\(epoch)", "epoch.former": "\(change.former)"])
        change.tell?()
    }

    func run() async throws {
        try? await cancelWhenGracefulShutdown { await self.watch() }  // ends by cancellation only
    }

    private func watch() async {
        var backoff = RetryBackoff(RetrySchedule(first: Self.interval, limit: .seconds(30)))
        while !Task.isCancelled {
            var pause = Self.interval
            do {
                saw(try await store.currentEpoch())
                backoff.reset()
            } catch {
                logger.debug("the epoch is unknown for now", metadata: ["error": "\(error)"])
                pause = backoff.next()
            }
            try? await Task.sleep(for: pause)  // cancelled: the loop's condition ends it
        }
    }
}

import DocumentStore
import EventLoop
import Lifecycle
import Logging

/// Tracks the database's epoch, and ends every session when it changes: the devices' state, and this process's state of their
/// partitions, belongs to the former epoch. The devices connect again, and start from their checkpoints.
///
/// Readers of the store report the epoch that they saw; in addition, the database is polled every second.
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

    /// - Parameter body: ends the sessions; may be called on any thread.
    func onChange(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onChange = body } }

    /// Reports that a read of the store saw this epoch.
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

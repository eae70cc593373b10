import DocumentModel
import EventLoop
public import Lifecycle
import Logging
import Metrics

/// Commits the uploads of many devices together: what arrives while a commit runs goes with the next one, so that the locks and
/// the flush to disk are paid once per batch.
///
/// Batches never mix apps; each app has one commit under way, and what an app waits for delays no other. An upload that is
/// locked out is tried again with later batches, and those behind it of the same device wait for it.
public final class GroupCommitter: Service {
    /// Bounds of a committer.
    public struct Limits: Sendable {
        /// Uploads of an app that may wait (1 and up); the next is refused.
        public var waitingPerApp: Int
        /// Changesets in a batch (1 and up).
        public var batch: Int
        /// How long an upload that is locked out is tried again before it fails with `busy`.
        public var patience: Duration

        public init(waitingPerApp: Int = 20_000, batch: Int = 512, patience: Duration = .seconds(10)) {
            self.waitingPerApp = max(waitingPerApp, 1)
            self.batch = max(batch, 1)
            self.patience = patience
        }
    }

    private struct Waiting {
        let upload: Upload
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<UploadResult, any Error>
    }

    private struct State {
        var queues: [String: [Waiting]] = [:]
        var running: Set<String> = []
        var isStopped = false
    }

    private let store: DocumentStore
    private let limits: Limits
    private let state = Locked(State())
    private let wakes: AsyncStream<String>
    private let wake: AsyncStream<String>.Continuation
    private let metrics = UploadMetrics()

    public init(store: DocumentStore, limits: Limits = Limits()) {
        self.store = store
        self.limits = limits
        // An app is in it once at most: it is put in only when nobody works on its queue.
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
    }

    /// Commits an upload with others of its app; returns when it is durable.
    ///
    /// Uploads of one device must be given in the order of their versions; they may be under way together. The upload takes its
    /// place on the caller's executor, so that the order of calls there is the order of commits.
    /// - Throws: `DocumentStoreError` (`overloaded`, `busy`, `stopped`), or what Postgres threw: then the outcome may be
    ///   unknown, and sending the changeset again is right.
    nonisolated(nonsending) public func commit(_ upload: Upload, app: String) async throws -> UploadResult {
        try await withCheckedThrowingContinuation { continuation in
            enqueue([(upload, continuation)], app: app)
        }
    }

    private func enqueue(_ uploads: [(Upload, CheckedContinuation<UploadResult, any Error>)], app: String) {
        let deadline = ContinuousClock.now + limits.patience
        var refusals: [(CheckedContinuation<UploadResult, any Error>, DocumentStoreError)] = []
        state.withLock { state in
            for (upload, continuation) in uploads {
                if state.isStopped {
                    refusals.append((continuation, .init(.stopped, "the committer has stopped")))
                } else if state.queues[app]?.count ?? 0 >= limits.waitingPerApp {
                    refusals.append((continuation, .init(.overloaded, "too many uploads wait")))
                } else {
                    state.queues[app, default: []].append(
                        .init(upload: upload, deadline: deadline, continuation: continuation))
                }
            }
            // Under the lock, so that it comes before the stream's end.
            if state.queues[app]?.isEmpty == false, state.running.insert(app).inserted { wake.yield(app) }
        }
        for (continuation, error) in refusals { continuation.resume(throwing: error) }
    }

    /// Commits until graceful shutdown or cancellation; what waits then is still committed, at most for the patience.
    public func run() async throws {
        await withDiscardingTaskGroup { group in
            await withGracefulShutdownHandler {
                await withTaskCancellationHandler {
                    for await app in wakes { group.addTask { await self.drain(app) } }
                } onCancel: {
                    self.stop()
                }
            } onGracefulShutdown: {
                self.stop()
            }
        }
    }

    private func stop() {
        state.withLock { state in
            state.isStopped = true
            wake.finish()
        }
    }

    /// Works on an app's queue until it is empty.
    private func drain(_ app: String) async {
        while let batch = next(of: app) { await commit(batch, app: app) }
    }

    private func next(of app: String) -> [Waiting]? {
        state.withLock { state in
            guard var queue = state.queues[app], !queue.isEmpty else {
                state.queues[app] = nil
                state.running.remove(app)
                return nil
            }
            let batch = Array(queue.prefix(limits.batch))
            queue.removeFirst(batch.count)
            state.queues[app] = queue
            return batch
        }
    }

    private func commit(_ batch: [Waiting], app: String) async {
        metrics.batchSize.record(batch.count)
        let start = ContinuousClock.now
        do {
            let results = try await store.attempt(batch.map(\.upload), app: app)
            metrics.commit.record(ContinuousClock.now - start)
            var again: [Waiting] = []
            for (waiting, result) in zip(batch, results) {
                if let result {
                    metrics.count(result)
                    waiting.continuation.resume(returning: result)
                } else if ContinuousClock.now < waiting.deadline {
                    again.append(waiting)
                } else {
                    waiting.continuation.resume(throwing: DocumentStoreError.lockedOut)
                }
            }
            if again.isEmpty { return }
            metrics.lockedOut.increment(by: again.count)
            // Before all others, so that a device's changesets stay in their order.
            let areAlone = state.withLock { state in
                state.queues[app, default: []].insert(contentsOf: again, at: 0)
                return again.count == batch.count && state.queues[app]?.count == again.count
            }
            // Cancelled: the next attempt fails at once, and tells them.
            if areAlone { try? await Task.sleep(for: .milliseconds(Int.random(in: 2...10))) }
        } catch {
            store.logger.debug("commit failed", metadata: ["app": "\(app)", "error": "\(error)"])
            for waiting in batch { waiting.continuation.resume(throwing: error) }
        }
    }
}

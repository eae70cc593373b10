import DocumentModel
import EventLoop
public import Lifecycle
import Logging
import Metrics
public import SyncEngine

/// Commits the uploads of many devices together: what arrives while a commit runs goes with the next one, so that the locks and
/// the flush to disk are paid once per batch.
///
/// Batches never mix apps. An app's partitions are divided into lanes, and each lane has one commit in flight; a lane that waits
/// doesn't delay the others. An upload that needs a locked document is retried with later batches, and later uploads of the same
/// device wait for it. A user whose changesets cost too much waits, while others go on: what deciding them takes of a processor, and
/// what follows from each large change, in Postgres and in all who read it. Before a user has to wait, the changesets of others
/// are committed without theirs. Those, and each changeset that is large, are committed beside their lane: one batch at a time,
/// whatever the app, while the lane goes on with the other partitions.
public final class GroupCommitter: Service {
    private struct Waiting {
        let upload: Upload
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<UploadResult, any Error>
    }

    /// The partitions of an app whose batches are committed one after the other.
    private struct Lane: Hashable {
        @ExactText var app: String
        var number: Int
    }

    private struct State {
        var queues: [Lane: [Waiting]] = [:]
        var running: Set<Lane> = []
        /// Lanes that wait for the end of a pause, and may run meanwhile.
        var pausing: Set<Lane> = []
        /// The end of the pause of each user who has to wait.
        var pauses: [UInt64: ContinuousClock.Instant] = [:]
        /// The users who owe more than ``costlyDebt``.
        var costly: Set<UInt64> = []
        var asides = AsideTurns<Lane>()
        var isStopped = false
    }

    /// What a lane does next.
    private enum Step {
        case commit([Waiting])
        /// A large upload, or uploads of costly users.
        case commitAside([Waiting])
        /// All waiting uploads are of users who have to wait.
        case pause(until: ContinuousClock.Instant)
        case end
    }

    /// What a task of its own is started for.
    private enum Work {
        case drain(Lane)
        case commitAside([Waiting], Lane)
    }

    /// The longest time that a user has to wait at once.
    private static let longestPause = Duration.seconds(5)

    private let store: DocumentStore
    private let loop: EventLoop?
    private let limits: Limits
    /// A user who owes more isn't committed together with others.
    private static let costlyDebt = Duration.milliseconds(200)
    /// What each user's changesets cost, as processor time.
    private let costs = TimeBudget(share: 0.5, allowance: .seconds(1))
    private let state = Locked(State())
    private let work: AsyncStream<Work>
    private let begin: AsyncStream<Work>.Continuation
    private let metrics = UploadMetrics()

    /// - Parameter loop: The event loop that works on batches; the one of the connections to Postgres saves a commit's many steps
    ///   from changing threads. `nil` for Swift's own threads.
    public init(store: DocumentStore, on loop: EventLoop? = nil, limits: Limits = Limits()) {
        self.store = store
        self.loop = loop
        self.limits = limits
        // The stream contains a lane at most once, since it is added only when no task works on its queue, and one batch aside.
        (work, begin) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
    }

    /// Commits an upload with others of its app; returns when it is durable.
    ///
    /// Uploads of one device must be passed in the order of their versions; several may be in flight. The upload is queued on the
    /// caller's executor, so that the order of calls there is the order of commits.
    /// - Throws: `DocumentStoreError` (`overloaded`, `busy`, `stopped`; `unavailable` for an upload that can't be committed until
    ///   the database is repaired, while others can), or what Postgres threw: then the outcome may be unknown, and the caller
    ///   should commit the changeset again.
    nonisolated(nonsending) public func commit(_ upload: Upload, app: String) async throws -> UploadResult {
        let partition = PartitionKey(app: app, partition: upload.partition)
        let lane = Lane(app: app, number: partition.shard(of: limits.lanes))
        return try await withCheckedThrowingContinuation { continuation in
            let waiting = Waiting(
                upload: upload, deadline: ContinuousClock.now + limits.patience, continuation: continuation)
            if let refusal = enqueue(waiting, in: lane) { continuation.resume(throwing: refusal) }
        }
    }

    private func enqueue(_ waiting: Waiting, in lane: Lane) -> DocumentStoreError? {
        state.withLock { state in
            if state.isStopped { return .init(.stopped, "the committer has stopped") }
            if state.queues[lane]?.count ?? 0 >= limits.waiting { return .init(.overloaded, "too many uploads wait") }
            state.queues[lane, default: []].append(waiting)
            // Under the lock, so that it comes before the stream's end.
            if state.running.insert(lane).inserted { begin.yield(.drain(lane)) }
            return nil
        }
    }

    /// Commits until graceful shutdown or cancellation. Uploads that wait at that time are still committed, or fail after
    /// ``Limits/patience``.
    public func run() async throws {
        await withTaskExecutorPreference(loop?.taskExecutor) {
            await withDiscardingTaskGroup { group in
                await withGracefulShutdownHandler {
                    await withTaskCancellationHandler {
                        for await work in work { group.addTask { await self.perform(work) } }
                    } onCancel: {
                        self.stop()
                    }
                } onGracefulShutdown: {
                    self.stop()
                }
            }
        }
    }

    private func stop() {
        state.withLock { state in
            state.isStopped = true
            begin.finish()
        }
    }

    private func perform(_ work: Work) async {
        switch work {
        case .drain(let lane): await drain(lane)
        case .commitAside(let batch, let lane):
            // Not on the loop: their decisions would delay those of other lanes.
            await withTaskExecutorPreference(globalConcurrentExecutor) { await commit(batch, in: lane) }
            for lane in state.withLock({ endAside(of: lane, &$0) }) { await start(.drain(lane)) }
        }
    }

    /// Starts a task, or does the work itself when no more tasks are started.
    private func start(_ work: Work) async {
        if case .terminated = begin.yield(work) { await perform(work) }
    }

    /// - Returns: the lanes whose queues have to be worked on.
    private func endAside(of lane: Lane, _ state: inout State) -> [Lane] {
        state.asides.end()
        var lanes: [Lane] = []
        // The one that has the turn next comes first.
        if let next = Self.wakeNextAside(&state) { lanes.append(next) }
        if state.queues[lane] != nil, state.running.insert(lane).inserted { lanes.append(lane) }
        return lanes
    }

    /// - Returns: the lane that may commit aside now and whose queue has to be worked on for it. One whose queue is worked on takes its turn
    ///   by itself.
    private static func wakeNextAside(_ state: inout State) -> Lane? {
        guard let next = state.asides.next, state.running.insert(next).inserted else { return nil }
        return next
    }

    /// Works on a lane's queue until it is empty.
    private func drain(_ lane: Lane) async {
        while true {
            let (step, other) = next(of: lane)
            if let other { await start(.drain(other)) }
            switch step {
            case .commit(let batch): await commit(batch, in: lane)
            case .commitAside(let batch):
                metrics.asides.increment()
                await start(.commitAside(batch, lane))
            case .pause(let end):
                // Uploads that come meanwhile start another task for the lane. A cancelled sleep ends early: the committer has
                // stopped then, which drops all pauses.
                try? await Task.sleep(until: end)
                guard state.withLock({ $0.pausing.remove(lane) != nil && $0.running.insert(lane).inserted }) else {
                    return
                }
            case .end: return
            }
        }
    }

    /// - Returns: what the lane does next, and another lane whose turn it is now to commit aside.
    private func next(of lane: Lane) -> (step: Step, other: Lane?) {
        let now = ContinuousClock.now
        var refused: [Waiting] = []
        let next = state.withLock { state -> (Step, Lane?) in
            let step = takeStep(of: lane, now: now, refused: &refused, &state)
            return (step, Self.wakeNextAside(&state))
        }
        metrics.heldBack.increment(by: refused.count)
        for waiting in refused {
            waiting.continuation.resume(
                throwing: DocumentStoreError(.overloaded, "the user's changesets cost too much"))
        }
        return next
    }

    private func takeStep(
        of lane: Lane, now: ContinuousClock.Instant, refused: inout [Waiting], _ state: inout State
    ) -> Step {
        guard let queue = state.queues.removeValue(forKey: lane), !queue.isEmpty else {
            state.asides.leave(lane)
            state.running.remove(lane)
            return .end
        }
        if !state.pauses.isEmpty { state.pauses = state.isStopped ? [:] : state.pauses.filter { $0.value > now } }
        if !state.costly.isEmpty {
            state.costly = state.costly.filter { costs.debt(of: $0, now: now) > Self.costlyDebt }
        }
        let division = QueueDivision(
            queue.lazy.map { ($0.upload, $0.deadline) }, limits: limits, busy: state.asides.partitions(of: lane),
            now: now
        ) { standing(of: $0, in: lane, state) }
        refused = division.refused.map { queue[$0] }
        var isAside = false
        if division.aside.isEmpty {
            state.asides.leave(lane)
        } else {
            isAside = state.asides.begin(
                lane, partitions: Set(division.aside.map { ExactText(queue[$0].upload.partition.text) }))
        }
        let taken = isAside ? division.aside : division.ordinary
        let left = division.left(without: taken).map { queue[$0] }
        state.queues[lane] = left.isEmpty && taken.isEmpty ? nil : left
        if !taken.isEmpty {
            let batch = Self.inTurns(taken.map { queue[$0] })
            return isAside ? .commitAside(batch) : .commit(batch)
        }
        state.running.remove(lane)
        guard let pauseEnd = division.pauseEnd, !left.isEmpty, state.pausing.insert(lane).inserted else { return .end }
        return .pause(until: pauseEnd)
    }

    /// The batch with the first upload of each user before the second ones, since it may be committed before all are decided.
    private static func inTurns(_ batch: [Waiting]) -> [Waiting] {
        var counts: [ExactText: Int] = [:]
        let turns = batch.map { waiting in
            let turn = counts[ExactText(waiting.upload.user), default: 0]
            counts[ExactText(waiting.upload.user)] = turn + 1
            return (turn, waiting)
        }
        if counts.count == 1 { return batch }
        return turns.sorted { $0.0 < $1.0 }.map(\.1)
    }

    private func sender(of upload: Upload, in lane: Lane) -> UInt64 {
        Sender.number(app: lane.app, user: upload.user)
    }

    private func standing(of upload: Upload, in lane: Lane, _ state: borrowing State) -> QueueDivision.Standing {
        let isLarge =
            upload.bytes >= limits.largeBytes || upload.changeset.operations.count >= limits.largeOperations
        if !state.pauses.isEmpty || !state.costly.isEmpty {
            let sender = sender(of: upload, in: lane)
            if let end = state.pauses[sender] { return .pausing(until: end) }
            if state.costly.contains(sender) { return .aside(isAlone: isLarge) }
        }
        return isLarge ? .aside(isAlone: true) : .ordinary
    }

    /// Charges what an upload costs to its user, who has to wait when it was too much.
    private func charge(_ upload: Upload, _ cost: Duration, in lane: Lane) {
        let sender = sender(of: upload, in: lane), now = ContinuousClock.now
        let pause = costs.charge(cost, of: sender, now: now)
        guard costs.debt(of: sender, now: now) > Self.costlyDebt else { return }
        state.withLock { state in
            state.costly.insert(sender)
            if let pause { state.pauses[sender] = now + min(pause, Self.longestPause) }
        }
    }

    private func commit(_ batch: [Waiting], in lane: Lane) async {
        metrics.batchSize.record(batch.count)
        let start = ContinuousClock.now
        do {
            let results = try await store.commit(batch.map(\.upload), app: lane.app) { [self] upload, cost in
                charge(upload, cost, in: lane)
            }
            metrics.commit.record(ContinuousClock.now - start)
            var again: [Waiting] = []
            for (waiting, result) in zip(batch, results) {
                if let result {
                    if case .success(let answer) = result { metrics.count(answer) }
                    waiting.continuation.resume(with: result)
                } else if ContinuousClock.now < waiting.deadline {
                    again.append(waiting)
                } else {
                    waiting.continuation.resume(throwing: DocumentStoreError.lockedOut)
                }
            }
            if again.isEmpty { return }
            metrics.deferred.increment(by: again.count)
            // They come before all others, so that a device's changesets stay in their order.
            let areAlone = state.withLock { state in
                state.queues[lane, default: []].insert(contentsOf: again, at: 0)
                return again.count == batch.count && state.queues[lane]?.count == again.count
            }
            // If the task was cancelled, the next attempt fails at once and resumes the callers.
            if areAlone { try? await Task.sleep(for: .milliseconds(Int.random(in: 2...10))) }
        } catch {
            store.logger.debug("commit failed", metadata: ["app": "\(lane.app)", "error": "\(error)"])
            for waiting in batch { waiting.continuation.resume(throwing: error) }
        }
    }
}

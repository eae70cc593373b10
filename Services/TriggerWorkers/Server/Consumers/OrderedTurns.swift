import DocumentModel
import DocumentStore
import EventLoop
import EventStream
import Postgres

/// Lets one worker at a time handle the events of ordered triggers, whose documents may be in partitions of several workers.
///
/// A worker that has all Kafka partitions has all events, and keeps its turns from one batch to the next, so that they cost it nothing.
/// When another one joins, it gives up each of them, those of running batches at their ends.
final class OrderedTurns: Sendable {
    private static let lease = Duration.seconds(6)

    /// The turn of a lane.
    private struct Turn {
        let leases: WorkLeases
        var fence: Int64 = 0
        /// When the lease ends, by this process's clock.
        var end: ContinuousClock.Instant
    }

    private struct State {
        var isAlone = false
        /// The turns of lanes without a running batch.
        var kept: [ExactText: Turn] = [:]
    }

    private let client: PostgresClient
    private let state = Locked(State())

    init(client: PostgresClient) { self.client = client }

    /// Called when this worker gets or loses Kafka partitions.
    /// - Parameter isAlone: whether it has all of them.
    func assigned(isAlone: Bool) async {
        let given = state.withLock { state in
            state.isAlone = isAlone
            if isAlone { return [] as [Turn] }
            defer { state.kept = [:] }
            return Array(state.kept.values)
        }
        // If it fails, the leases expire by themselves.
        for turn in given where turn.end > .now { try? await turn.leases.release() }
    }

    /// Handles a batch of a lane in this worker's turn, and waits for it.
    /// - Parameters:
    ///   - settle: Called first, if another worker may have had the turn since this one had it for the last time.
    ///   - body: What is to be done then.
    func take(
        _ lane: String, settle: @escaping @Sendable (OrderedTurn) async throws -> Void,
        _ body: @escaping @Sendable (OrderedTurn) async throws -> Void
    ) async throws {
        var turn =
            state.withLock { $0.kept.removeValue(forText: lane) }
            ?? Turn(leases: WorkLeases("triggers \(lane)", client: client), end: .now)
        let former = turn.fence
        if turn.end - .now < Self.lease / 2 { try await acquire(&turn) }
        let held = OrderedTurn(name: turn.leases.name, holder: turn.leases.holder, fence: turn.fence)
        do {
            let renewal = try await turn.leases.renewing(held.fence, for: Self.lease) {
                if held.fence != former { try await settle(held) }
                try await body(held)
            }
            if let renewal { turn.end = renewal + Self.lease }
        } catch {
            try? await turn.leases.release()
            throw error
        }
        let isKept = state.withLock { [turn] state in
            guard state.isAlone else { return false }
            state.kept = state.kept.filter { $0.value.end > .now }
            state.kept[lane] = turn
            return true
        }
        if !isKept { try? await turn.leases.release() }
    }

    private func acquire(_ turn: inout Turn) async throws {
        var begin = ContinuousClock.now
        while true {
            if let fence = try await turn.leases.acquire(for: Self.lease)[0] {
                turn.fence = fence
                break
            }
            // Nothing tells when the holder releases the lease; its batch mostly takes milliseconds.
            try await Task.sleep(for: .milliseconds(Int.random(in: 5...25)))
            begin = .now
        }
        turn.end = begin + Self.lease
    }
}

public import DocumentModel
import EventLoop
public import EventTopics
import Foundation
import Synchronization

/// Until when this gateway may serve what it was granted: as long as it hears permissions on every Kafka partition of the grants.
///
/// Who has read a heartbeat has read every revocation before it. So a gateway that is cut off from the topic, stopped or too slow stops
/// by itself, and who waits as long as a heartbeat is valid knows that no gateway serves by a grant that it replaced.
///
/// A deadline counts from when the heartbeat was sent, and runs on a clock that goes on while the machine sleeps.
public final class GrantLease: Sendable {
    private struct Source {
        /// The deadline that counts.
        var deadline: Duration = .zero
        /// The newest deadline that was read, which counts when no revocation before it is being carried out any more.
        var latest: Duration = .zero
        var openFences = 0
    }

    private struct State {
        var sources: [Int32: Source] = [:]
        var sourceCount: Int?
        var registered: Duration = .zero
        var isEnded = false

        /// The earliest of all.
        var deadline: Duration {
            guard !isEnded, let sourceCount, sources.count >= sourceCount else { return .zero }
            return sources.values.reduce(registered) { min($0, $1.deadline) }
        }
    }

    /// One that nothing was heard of yet.
    private let clock: WallClock

    /// - Parameter clock: What the age of a heartbeat is measured with; it should agree with that of permissions.
    public init(clock: WallClock = .system) { self.clock = clock }

    private let state = Locked(State())
    /// Nanoseconds of `now`, read at every flush.
    private let deadline = Atomic<Int64>(0)
    private let wasMissed = Atomic<Bool>(false)
    private let alarm = Alarm()

    /// Whether the gateway may serve now.
    public var isValid: Bool { Self.nanoseconds < deadline.load(ordering: .acquiring) }

    /// Somebody began without it, and has to be told when it is there.
    public func missed() {
        wasMissed.store(true, ordering: .releasing)
        alarm.set()
    }

    /// Whether `missed` was called since the last time.
    public func takeMissed() -> Bool { wasMissed.exchange(false, ordering: .acquiringAndReleasing) }

    /// The gateway stops for good.
    public func end() { change { $0.isEnded = true } }

    /// The topic's number of partitions is known: a heartbeat is needed from each.
    public func follow(partitions: Int) { change { $0.sourceCount = partitions } }

    /// A heartbeat was read.
    public func renew(_ beat: GrantHeartbeat) {
        // The steady clock first: what passes between the two readings makes the lease shorter, not longer.
        let now = Self.now
        let age = Duration.milliseconds(clock.now() - beat.time)
        let deadline = now + .milliseconds(beat.validFor) - max(age, .zero)
        change { state in
            var source = state.sources[beat.kafkaPartition] ?? Source()
            source.latest = max(source.latest, deadline)
            if source.openFences == 0 { source.deadline = source.latest }
            state.sources[beat.kafkaPartition] = source
        }
    }

    /// The gateway stands in the registry for this long.
    public func registered(for validity: Duration) { change { $0.registered = Self.now + validity } }

    /// A revocation was read, and isn't carried out yet: heartbeats behind it don't count so far.
    public func fenceBegan(on partition: Int32) { change { $0.sources[partition, default: Source()].openFences += 1 } }

    /// A revocation is carried out.
    public func fenceEnded(on partition: Int32) {
        change { state in
            guard var source = state.sources[partition] else { return }
            source.openFences -= 1
            if source.openFences == 0 { source.deadline = source.latest }
            state.sources[partition] = source
        }
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            let former = deadline.exchange(Self.nanoseconds(state.deadline), ordering: .acquiringAndReleasing)
            // What only gets later is looked at when the former deadline has come.
            if former <= Self.nanoseconds || state.deadline < .nanoseconds(former) { alarm.set() }
        }
    }

    /// Returns when it is worth looking again. One task at a time.
    /// - Parameter isValid: what it was at the last look.
    /// - Throws: `CancellationError`.
    public func mayHaveChanged(from isValid: Bool) async throws {
        let left = deadline.load(ordering: .acquiring) - Self.nanoseconds
        // It may have run out since that look.
        if isValid { alarm.set(.now + .nanoseconds(max(left, 0))) }
        try await alarm.ring()
    }

    private static var now: Duration { .nanoseconds(nanoseconds) }

    private static func nanoseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    private static var nanoseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

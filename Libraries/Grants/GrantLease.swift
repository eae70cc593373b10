public import DocumentModel
import EventLoop
public import EventTopics
import Foundation
import SyncEngine
import Synchronization

/// How long this gateway may serve by its grants: as long as it receives heartbeats of permissions on every Kafka partition of the
/// grants (`ServingLease`).
///
/// A gateway that has read a heartbeat has read every revocation before it. So a gateway that is cut off from the topic, suspended
/// or too slow stops serving by itself, and after waiting as long as a heartbeat is valid, permissions knows that no gateway serves
/// by a grant that it has replaced.
///
/// A deadline counts from the time when the heartbeat was sent, on a clock that continues while the machine sleeps.
public final class GrantLease: Sendable {
    private let clock: WallClock

    /// A lease of which nothing was heard yet.
    /// - Parameter clock: What the age of a heartbeat is measured with; it should agree with that of permissions.
    public init(clock: WallClock = .system) { self.clock = clock }

    private let state = Locked(ServingLease())
    /// The deadline in nanoseconds of `now`, read at every flush.
    private let deadline = Atomic<Int64>(0)
    private let wasMissed = Atomic<Bool>(false)
    private let alarm = Alarm()

    /// Whether the gateway may serve now.
    public var isValid: Bool { Self.nanoseconds < deadline.load(ordering: .acquiring) }

    /// Whether the gateway may serve now. A caller that hears no stops serving; that is noted for the watcher
    /// (``takeMissed()``), which may not have seen the lapse, and has to notify the caller when the lease is valid again.
    public func mayServe() -> Bool {
        if isValid { return true }
        wasMissed.store(true, ordering: .releasing)
        alarm.set()
        return false
    }

    /// Returns whether ``mayServe()`` has said no since the last call of this.
    public func takeMissed() -> Bool { wasMissed.exchange(false, ordering: .acquiringAndReleasing) }

    /// Ends the lease permanently, because the gateway stops.
    public func end() { change { $0.end() } }

    /// Sets the topic's number of partitions: a heartbeat is needed from each.
    public func follow(partitions: Int) { change { $0.follow(partitions: partitions) } }

    /// Extends the lease with a heartbeat that was read.
    public func renew(_ beat: GrantHeartbeat) {
        // The steady clock is read first: the time between the two readings makes the lease shorter, not longer.
        let now = Self.now
        let wallTime = clock.now()
        change {
            $0.renew(
                partition: beat.kafkaPartition, sentAt: beat.time, validFor: beat.validFor, now: now, wallTime: wallTime
            )
        }
    }

    /// Records that the gateway may serve for this long after its registration.
    public func registered(for validity: Duration) { change { $0.registered(until: Self.now + validity) } }

    /// Records that a revocation was read and isn't carried out yet: heartbeats behind it don't count until then.
    /// - Returns: the number of the revocation in the Kafka partition.
    public func fenceBegan(on partition: Int32) -> Int { change { $0.fenceBegan(on: partition) } }

    /// Records that a revocation is carried out.
    /// - Parameter fence: Its number.
    public func fenceEnded(_ fence: Int, on partition: Int32) { change { $0.fenceEnded(fence, on: partition) } }

    private func change<Result: Sendable>(_ body: (inout ServingLease) -> Result) -> Result {
        state.withLock { state in
            let result = body(&state)
            let former = deadline.exchange(Self.nanoseconds(state.deadline), ordering: .acquiringAndReleasing)
            // A deadline that only gets later is noticed when the former one is reached.
            if former <= Self.nanoseconds || state.deadline < .nanoseconds(former) { alarm.set() }
            return result
        }
    }

    /// Returns when `isValid` may have changed. Only one task may wait at a time.
    /// - Parameter isValid: the value that the caller read last.
    /// - Throws: `CancellationError`.
    public func mayHaveChanged(from isValid: Bool) async throws {
        let left = deadline.load(ordering: .acquiring) - Self.nanoseconds
        // The lease may have expired since that read.
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

import SyncEngine
import Testing

/// The times are milliseconds of the wall clock and seconds of the steady one, which are equal here.
@Suite struct ServingLeaseTests {
    private static let validFor: Int64 = 5000

    private func lease(partitions: Int = 1) -> ServingLease {
        var lease = ServingLease()
        lease.follow(partitions: partitions)
        lease.registered(until: .seconds(1000))
        return lease
    }

    private func renew(_ lease: inout ServingLease, sentAt: Int64, now: Int64, on partition: Int32 = 0) {
        lease.renew(
            partition: partition, sentAt: sentAt, validFor: Self.validFor, now: .milliseconds(now), wallTime: now)
    }

    @Test func `a heartbeat counts from when it was sent`() {
        var lease = lease()
        renew(&lease, sentAt: 10_000, now: 11_000)
        #expect(lease.deadline == .milliseconds(15_000))
        // A late one extends a lease that hasn't lapsed.
        renew(&lease, sentAt: 11_000, now: 14_900)
        #expect(lease.deadline == .milliseconds(16_000))
    }

    @Test func `a lease that has lapsed goes on only with a heartbeat that is new`() {
        var lease = lease()
        renew(&lease, sentAt: 10_000, now: 10_000)
        renew(&lease, sentAt: 17_000, now: 20_000)  // three seconds old: a broker that stood still had it
        #expect(lease.deadline == .milliseconds(15_000))
        renew(&lease, sentAt: 20_000, now: 20_100)
        #expect(lease.deadline == .milliseconds(25_000))
    }

    @Test func `each Kafka partition lapses for itself`() {
        var lease = lease(partitions: 2)
        renew(&lease, sentAt: 10_000, now: 10_000)
        #expect(lease.deadline == .zero)
        renew(&lease, sentAt: 10_500, now: 10_500, on: 1)
        #expect(lease.deadline == .milliseconds(15_000))
        renew(&lease, sentAt: 14_000, now: 14_000)
        renew(&lease, sentAt: 13_000, now: 16_000, on: 1)
        #expect(lease.deadline == .milliseconds(15_500))
    }

    @Test func `a heartbeat behind a revocation counts once that is carried out`() {
        var lease = lease()
        renew(&lease, sentAt: 10_000, now: 10_000)
        let fence = lease.fenceBegan(on: 0)
        renew(&lease, sentAt: 12_000, now: 12_000)
        #expect(lease.deadline == .milliseconds(15_000))
        lease.fenceEnded(fence, on: 0)
        #expect(lease.deadline == .milliseconds(17_000))
        lease.end()
        #expect(lease.deadline == .zero)
    }

    @Test func `revocations that always overlap don't let the lease lapse`() {
        var lease = lease()
        renew(&lease, sentAt: 10_000, now: 10_000)
        var former = lease.fenceBegan(on: 0)
        for second in Int64(11)...60 {
            renew(&lease, sentAt: second * 1000, now: second * 1000)
            let next = lease.fenceBegan(on: 0)
            // Before the revocation in front of it is carried out, the heartbeat doesn't count.
            #expect(lease.deadline == .seconds(second - 1 + 5))
            lease.fenceEnded(former, on: 0)
            #expect(lease.deadline == .seconds(second + 5))
            former = next
        }
    }

    @Test func `a heartbeat waits for each revocation in front of it, in whichever order they are carried out`() {
        var lease = lease()
        renew(&lease, sentAt: 10_000, now: 10_000)
        let first = lease.fenceBegan(on: 0)
        let second = lease.fenceBegan(on: 0)
        renew(&lease, sentAt: 11_000, now: 11_000)
        let third = lease.fenceBegan(on: 0)
        renew(&lease, sentAt: 12_000, now: 12_000)
        renew(&lease, sentAt: 12_500, now: 12_500)
        lease.fenceEnded(second, on: 0)
        #expect(lease.deadline == .milliseconds(15_000))
        lease.fenceEnded(first, on: 0)
        #expect(lease.deadline == .milliseconds(16_000))
        lease.fenceEnded(third, on: 0)
        #expect(lease.deadline == .milliseconds(17_500))
    }
}

import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Foundation
import Grants
import SyncEngine
import SyncProtocol
import TestSupport
import Testing

@testable import SyncGateway

/// What a gateway does by itself when it doesn't hear permissions.
@Suite struct LeaseTests {
    /// Short, but long enough for two devices to connect where nothing else runs for seconds (a busy machine, a broker that hands over).
    private static let validity = Duration.seconds(15)

    @Test func `without heartbeats nothing is served, writes are accepted, and changes follow later`() async throws {
        let fixture = try await GatewayFixture(heartbeats: Self.validity)
        try await suspend(fixture) { fixture.heartbeats.pause() }
        fixture.stop()
    }

    @Test func `one Kafka partition that stands still is enough to suspend`() async throws {
        let fixture = try await GatewayFixture(heartbeats: Self.validity)
        // The embedded broker has four partitions of any topic that isn't configured.
        try await suspend(fixture) { fixture.heartbeats.silence(2) }
        fixture.stop()
    }

    private func suspend(_ fixture: GatewayFixture, by cutOff: () -> Void) async throws {
        let partition = fixture.partition()
        for user in ["ann", "bob"] { try await fixture.grant(.write, to: user, in: partition) }
        let ann = try await fixture.device("ann")
        let bob = try await fixture.device("bob")
        _ = try await ann.open(partition)
        _ = try await bob.open(partition)
        cutOff()
        for device in [ann, bob] {
            let report = try await device.error()
            #expect(report.code == .suspended && report.partition == partition && report.action == .wait)
        }
        try await ann.upload(1, insert: "a-\(partition.text)", into: partition)
        guard case .ack = try await ann.next() else { throw Device.Unexpected(what: "no ack") }
        // A device that connects now is welcomed, and has to wait.
        let cleo = try await fixture.device("bob")
        try await cleo.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 1, number: 0)))
        #expect(try await cleo.error().code == .suspended)
        // The live frame would have arrived before the answer to a ping.
        try await bob.send(.ping)
        guard case .pong = try await bob.next() else { throw Device.Unexpected(what: "not silent") }
        fixture.heartbeats.resume()
        #expect(try await bob.download().changes.count == 1)
        guard case .subscribed = try await cleo.next() else { throw Device.Unexpected(what: "not opened") }
        #expect(try await cleo.download().changes.count == 1)
    }

    @Test func `a revocation is acknowledged even if no device has the partition open`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        let acks = try await fixture.received(FenceAck.self)
        try await fixture.grant(.read, to: "ann", in: partition)
        let phone = try await fixture.device("ann"), tablet = try await fixture.device("ann")
        for device in [phone, tablet] { _ = try await device.open(partition) }
        try await fixture.grant(.none, to: "ann", in: partition, version: 2, isFence: true)
        try await fixture.grant(.none, to: "nobody", in: partition, version: 2, isFence: true)
        for device in [phone, tablet] {
            guard case .revoked = try await device.next() else { throw Device.Unexpected(what: "not revoked") }
        }
        for user in ["ann", "nobody"] {
            try await eventually("the answer for \(user)") {
                acks.withLock { $0.contains { $0.user == user && $0.partition == partition && $0.version.number == 2 } }
            }
        }
        // Other tests may have started further gateways.
        let answers = acks.withLock { $0.filter { $0.partition == partition } }
        #expect(Set(answers.map(\.user)) == ["ann", "nobody"])
        #expect(Set(answers.map { "\($0.gateway) \($0.user)" }).count == answers.count)
        let gateways = try await fixture.postgres.query("select gateway from partita.gateways").decode(String.self)
        #expect(acks.withLock { $0.allSatisfy { gateways.contains($0.gateway) } })
    }

    // MARK: The lease itself

    private func beat(_ partition: Int32, age: Int64 = 0, validFor: Int64 = 60_000) -> GrantHeartbeat {
        GrantHeartbeat(
            kafkaPartition: partition, sender: "s", number: 1,
            time: Int64(Date().timeIntervalSince1970 * 1000) - age, validFor: validFor)
    }

    @Test func `a lease needs every partition, and the registry`() {
        let lease = GrantLease()
        lease.renew(beat(0))
        lease.renew(beat(1))
        lease.registered(for: .seconds(60))
        #expect(!lease.isValid)  // how many there are isn't known
        lease.follow(partitions: 3)
        #expect(!lease.isValid)
        lease.renew(beat(2))
        #expect(lease.isValid)
        lease.registered(for: .zero)
        #expect(!lease.isValid)
        lease.registered(for: .seconds(60))
        #expect(lease.isValid)
        lease.end()
        #expect(!lease.isValid)
    }

    @Test func `a lease counts from when the heartbeat was sent`() {
        let lease = GrantLease()
        lease.follow(partitions: 1)
        lease.registered(for: .seconds(60))
        lease.renew(beat(0, age: 70_000))
        #expect(!lease.isValid)
        lease.renew(beat(0, age: 50_000))  // one that is so old doesn't revive a lease that has lapsed
        #expect(!lease.isValid)
        lease.renew(beat(0, age: 20_000))
        #expect(lease.isValid)
        lease.renew(beat(0, age: 70_000))  // an old one that arrives late doesn't shorten the lease
        #expect(lease.isValid)
    }

    @Test func `who was refused is told when the lease is valid again, however short the lapse was`() {
        let lease = GrantLease()
        lease.follow(partitions: 1)
        lease.registered(for: .seconds(60))
        #expect(!lease.mayServe())
        lease.renew(beat(0))
        #expect(lease.mayServe())
        #expect(lease.takeMissed())
        #expect(!lease.takeMissed())
    }

    @Test func `a watcher of a lease ends up with its current state`() async throws {
        let lease = GrantLease()
        lease.follow(partitions: 1)
        lease.registered(for: .seconds(600))
        let known = Locked(true)
        let watching = Task {
            var isValid: Bool
            repeat {
                isValid = lease.isValid
                known.withLock { [isValid] in $0 = isValid }
            } while (try? await lease.mayHaveChanged(from: isValid)) != nil
        }
        // Leases that run out while a watcher reads them.
        for _ in 0..<300 {
            lease.renew(beat(0, validFor: .random(in: 0...2)))
            try await Task.sleep(for: .microseconds(.random(in: 0...2500)))
        }
        try await eventually("it has run out") { !known.withLock { $0 } }
        lease.renew(beat(0))
        try await eventually("it is there again") { known.withLock { $0 } }
        lease.end()
        try await eventually("it is over") { !known.withLock { $0 } }
        watching.cancel()
        await watching.value
    }

    @Test func `heartbeats after a revocation don't count before it is carried out`() {
        let lease = GrantLease()
        lease.follow(partitions: 1)
        lease.registered(for: .seconds(60))
        lease.renew(beat(0, age: 60_000))
        let fence = lease.fenceBegan(on: 0)
        lease.renew(beat(0))
        #expect(!lease.isValid)
        lease.fenceEnded(fence, on: 0)
        #expect(lease.isValid)
    }
}

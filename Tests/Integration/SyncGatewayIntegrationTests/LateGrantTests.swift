import DocumentModel
import EventTopics
import Foundation
import SyncProtocol
import TestSupport
import Testing

/// A process of permissions that stood still between a commit and its message publishes the grant late, when another one has already
/// revoked it.
@Suite struct LateGrantTests {
    private func publish(_ access: Grant.Access, version: Int64, _ partition: Partition, _ fixture: GatewayFixture)
        async throws
    {
        try await fixture.events.send(
            GrantsEvent.grant(
                Grant(
                    app: GatewayFixture.app, user: "ann", partition: partition, access: access,
                    version: Revision(epoch: 1, number: version), reason: "test",
                    time: Int64(Date().timeIntervalSince1970 * 1000))))
    }

    @Test func `a grant that comes behind its revocation opens nothing`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        let asked = try await fixture.received(PermissionRequest.self)
        let isAsked = { asked.withLock { $0.contains { $0.partition == partition } } }
        try await fixture.grant(.write, to: "ann", in: partition)
        try await fixture.grant(.none, to: "ann", in: partition, version: 2, isFence: true)
        let device = try await fixture.device("ann")
        try await device.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 1, number: 0)))
        try await eventually("permissions is asked") { isAsked() }
        try await publish(.write, version: 1, partition, fixture)
        try await fixture.deny("ann", partition)
        guard case .revoked(partition, _) = try await device.next() else {
            throw Device.Unexpected(what: "not refused")
        }
        device.close()
    }

    @Test(arguments: ["rules", "secrets"])
    func `a grant of former rules opens nothing until permissions has decided again`(column: String) async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        let asked = try await fixture.received(PermissionRequest.self)
        try await fixture.grant(.write, to: "ann", in: partition)
        func decide(with change: Int64) async throws {
            try await fixture.postgres.execute(
                """
                update partita.grants g set rules = a.version, secrets = a.secrets_version
                from partita.apps a where a.id = g.app and g.app = $1 and g.partition = $2
                """, [.text(GatewayFixture.app), .text(partition.text)])
            try await fixture.postgres.execute(
                "update partita.grants set \(column) = \(column) - $3 where app = $1 and partition = $2",
                [.text(GatewayFixture.app), .text(partition.text), .int(change)])
        }
        try await decide(with: 1)
        let device = try await fixture.device("ann")
        try await device.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 1, number: 0)))
        try await eventually("permissions is asked") { asked.withLock { $0.contains { $0.partition == partition } } }
        try await decide(with: 0)
        try await fixture.grant(.read, to: "ann", in: partition, version: 2)
        guard case .subscribed(let subscribed) = try await device.next() else {
            throw Device.Unexpected(what: "not opened")
        }
        #expect(subscribed.access == .read)
        device.close()
    }

    @Test func `a grant that answers a question is the one that stands`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        let asked = try await fixture.received(PermissionRequest.self)
        let device = try await fixture.device("ann")
        try await device.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 1, number: 0)))
        try await eventually("permissions is asked") { asked.withLock { $0.contains { $0.partition == partition } } }
        try await fixture.grant(.read, to: "ann", in: partition, version: 2)
        guard case .subscribed(let subscribed) = try await device.next() else {
            throw Device.Unexpected(what: "not opened")
        }
        #expect(subscribed.access == .read)
        device.close()
    }
}

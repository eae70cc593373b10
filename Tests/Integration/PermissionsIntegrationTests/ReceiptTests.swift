import DocumentModel
import EventTopics
import Foundation
import Grants
import Postgres
import TestSupport
import Testing

/// When it is certain that no gateway serves a revoked pair any more. The test plays the gateways.
@Suite(.serialized) struct ReceiptTests {
    private func revoked(_ user: String, _ fixture: PermissionsFixture) async throws -> Grant {
        _ = try await fixture.members.insertOne(["_id": .string(user), "rooms": ["kitchen"]])
        try await fixture.ask(user, "kitchen")
        _ = try await fixture.grant(.write, of: user, "kitchen")
        _ = try await fixture.members.updateOne(["_id": .string(user)], .document(["$set": ["rooms": []]]))
        return try await fixture.revocation(of: user, "kitchen")
    }

    private func answer(_ gateway: String, to grant: Grant, _ fixture: PermissionsFixture) async throws {
        try await fixture.events.send(
            FenceAck(
                app: grant.app, user: grant.user, partition: grant.partition, version: grant.version, gateway: gateway,
                time: 0))
    }

    @Test func `a receipt comes when every gateway has answered, or when its lease has run out`() async throws {
        let fixture = try await PermissionsFixture.shared()
        let gateways = GatewayRegistry(client: fixture.postgres)
        for gateway in ["one", "two"] { try await gateways.enter(gateway) }

        // On a busy machine the answers may come after the leases' end; then the round proves nothing, and is repeated.
        for attempt in 1...4 {
            let user = "gus-\(attempt)", first = try await revoked(user, fixture)
            try await answer("one", to: first, fixture)
            try await answer("two", to: first, fixture)
            let quick = try await fixture.receipt(of: user, "kitchen")
            if !quick.lapsed.isEmpty, attempt < 4 { continue }
            #expect(quick.answered == ["one", "two"] && quick.lapsed.isEmpty && quick.version == first.version)
            break
        }

        let start = ContinuousClock.now
        let second = try await revoked("hal", fixture)
        try await answer("one", to: second, fixture)
        let slow = try await fixture.receipt(of: "hal", "kitchen")
        #expect(slow.answered == ["one"] && slow.lapsed == ["two"])
        #expect(ContinuousClock.now - start > .seconds(2), "the lease and what clocks may differ by")

        for gateway in ["one", "two"] { try await gateways.leave(gateway) }
        _ = try await revoked("ida", fixture)
        let alone = try await fixture.receipt(of: "ida", "kitchen")
        #expect(alone.answered.isEmpty && alone.lapsed.isEmpty)
    }

    @Test func `a grant without access needs no receipt`() async throws {
        let fixture = try await PermissionsFixture.shared()
        _ = try await fixture.members.insertOne(["_id": "jon", "rooms": []])
        try await fixture.ask("jon", "kitchen")
        #expect(try await !fixture.grant(.none, of: "jon", "kitchen").isFence)
        let open = try await fixture.postgres.query("select count(*) from partita.fences where user_id = 'jon'")
        #expect(try open.decode(Int64.self) == [0])
        #expect(!fixture.hasReceipt(of: "jon", "kitchen"))
    }
}

import DocumentModel
import DocumentStore
import Foundation
import SyncEngine
import SyncProtocol
import TestSupport
import Testing

@Suite struct UploadTests {
    @Test func `a changeset is acknowledged once it is stored, and a second time when it is sent again`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let device = try await fixture.device("ann", id: "phone-\(partition.text)")
        _ = try await device.open(partition)
        let id = "message-\(partition.text)"
        let clock = Int64(Date().timeIntervalSince1970 * 1000)
        try await device.upload(1, insert: id, into: partition, clock: clock)
        guard case .ack(let ack) = try await device.answer() else {
            Issue.record("not acknowledged")
            return
        }
        let messages = fixture.store.collection("ChatMessage", database: "RChat", app: GatewayFixture.app)
        #expect(try await messages.findOne(["_id": .string(id)]) != nil)

        let later = try await fixture.device("ann", id: "phone-\(partition.text)")
        let (subscribed, _) = try await later.open(partition)
        #expect(subscribed.lastVersion == 1)
        #expect(subscribed.head == ack.revision)
        try await later.upload(1, insert: id, into: partition, clock: clock)
        guard case .ack(let second) = try await later.answer() else {
            Issue.record("not acknowledged again")
            return
        }
        #expect(second.revision == ack.revision)
        #expect(try await messages.countDocuments(["_id": .string(id)]) == 1)
    }

    @Test func `a device's schema version is stored with what it uploads`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition(), phone = "phone-\(partition.text)"
        try await fixture.grant(.write, to: "ann", in: partition)
        for version in 1...3 as ClosedRange<Int64> {
            let device = try await fixture.device("ann", id: phone, schemaVersion: version == 3 ? 0 : version + 6)
            _ = try await device.open(partition)
            try await device.upload(version, insert: "\(partition.text)/\(version)", into: partition)
            guard case .ack = try await device.answer() else { throw Device.Unexpected(what: "no ack") }
            let stored = try await fixture.postgres.query(
                "select schema_version from partita.uploads where device = $1", [.text(phone)])
            #expect(try stored.decode(Int64?.self) == [version == 3 ? 0 : version + 6])
            device.close()
        }
    }

    @Test func `many changesets that are sent together are answered in their order`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let device = try await fixture.device("ann")
        _ = try await device.open(partition)
        for version in 1...16 {
            try await device.upload(Int64(version), insert: "\(partition.text)/\(version)", into: partition)
        }
        var versions: [Int64] = []
        while versions.count < 16 {
            if case .ack(let ack) = try await device.answer() { versions.append(ack.version) }
        }
        #expect(versions == Array(1...16))
    }

    @Test func `a rejected changeset has a reason and doesn't delay the next`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let device = try await fixture.device("ann")
        _ = try await device.open(partition)
        try await device.upload(1, insert: "bad-\(partition.text)", into: partition, ["text": .int32(7)])
        try await device.upload(2, insert: "good-\(partition.text)", into: partition)
        guard case .rejected(let rejection) = try await device.answer() else {
            Issue.record("not rejected")
            return
        }
        #expect(rejection.version == 1)
        #expect(rejection.reason.code == .schemaViolation)
        guard case .ack(let ack) = try await device.answer() else {
            Issue.record("not acknowledged")
            return
        }
        #expect(ack.version == 2)
    }

    @Test func `a user who may only read can't write`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.read, to: "ann", in: partition)
        let device = try await fixture.device("ann")
        _ = try await device.open(partition)
        try await device.upload(1, insert: "m-\(partition.text)", into: partition)
        guard case .rejected(let rejection) = try await device.answer() else {
            Issue.record("not rejected")
            return
        }
        #expect(rejection.reason.code == .notPermitted)
    }

    @Test func `another changeset under a version that the server has is a fork`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let device = try await fixture.device("ann")
        _ = try await device.open(partition)
        try await device.upload(1, insert: "a-\(partition.text)", into: partition)
        guard case .ack = try await device.answer() else { throw Device.Unexpected(what: "no ack") }
        try await device.upload(1, insert: "b-\(partition.text)", into: partition)
        guard case .forked(partition, version: 1) = try await device.answer() else {
            throw Device.Unexpected(what: "no fork")
        }
    }

    @Test func `a version that skips one closes the partition, which opens again`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let device = try await fixture.device("ann")
        _ = try await device.open(partition)
        try await device.upload(2, insert: "a-\(partition.text)", into: partition)
        let report = try await device.error()
        #expect(report.code == .versionGap && report.partition == partition && report.action == .retry)
        #expect(try await device.open(partition).subscribed.lastVersion == 0)
        try await device.upload(1, insert: "a-\(partition.text)", into: partition)
        guard case .ack = try await device.answer() else { throw Device.Unexpected(what: "no ack") }
    }

    @Test func `the answer to an upload from before a partition was opened again doesn't close it`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let device = try await fixture.device("ann")
        _ = try await device.open(partition)
        try await fixture.postgres.withTransaction { transaction in
            // Counters can't be read: the answer has to wait.
            try await transaction.execute("lock table partita.uploads in access exclusive mode")
            try await device.upload(2, insert: "a-\(partition.text)", into: partition)
            try await device.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 1, number: 0)))
            // Both have come.
            try await device.send(.ping)
            guard case .pong = try await device.next() else { throw Device.Unexpected(what: "no pong") }
        }
        guard case .subscribed(let subscribed) = try await device.next() else {
            throw Device.Unexpected(what: "not opened again")
        }
        #expect(subscribed.lastVersion == 0)
        #expect(try await device.download().catchUp?.isFinal == true)
        try await device.upload(1, insert: "a-\(partition.text)", into: partition)
        guard case .ack = try await device.answer() else { throw Device.Unexpected(what: "no ack") }
    }

    @Test func `an upload from before a partition was opened again is answered when it is sent again`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let device = try await fixture.device("ann")
        _ = try await device.open(partition)
        try await fixture.postgres.withTransaction { transaction in
            // It can't be committed before the partition is opened again.
            try await transaction.execute("lock table partita.uploads in access exclusive mode")
            try await device.upload(1, insert: "a-\(partition.text)", into: partition, clock: 1_700_000_000_000)
            try await device.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 1, number: 0)))
            try await device.send(.ping)
            guard case .pong = try await device.next() else { throw Device.Unexpected(what: "no pong") }
        }
        guard case .subscribed = try await device.answer() else {
            throw Device.Unexpected(what: "an answer in front of what was read before the commit")
        }
        try await device.upload(1, insert: "a-\(partition.text)", into: partition, clock: 1_700_000_000_000)
        guard case .ack = try await device.answer() else { throw Device.Unexpected(what: "no ack") }
        try await device.send(.ping)
        guard case .pong = try await device.answer() else { throw Device.Unexpected(what: "a second answer") }
    }

    @Test func `a version that is too old to be distinguished from others is refused`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let device = try await fixture.device("ann")
        _ = try await device.open(partition)
        for version in 1...Int64(DevicePartition.uploadWindow + 1) {
            try await device.upload(version, insert: "\(partition.text)/\(version)", into: partition)
            guard case .ack = try await device.answer() else { throw Device.Unexpected(what: "no ack") }
        }
        try await device.upload(1, insert: "other", into: partition)
        guard case .rejected(let rejection) = try await device.answer() else {
            throw Device.Unexpected(what: "not rejected")
        }
        #expect(rejection.reason.code == .outcomeUnknown)
    }
}

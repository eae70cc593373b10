import AppDefinition
import DocumentModel
import DocumentStore
import Foundation
import SyncEngine
import SyncProtocol
import TestSupport
import Testing

/// What one user does doesn't stop the others.
@Suite(.serialized) struct FairnessTests {
    /// On a busy machine, with gateway and attacker in one process; without fairness it was more, or an error.
    private static let bound = Duration.seconds(10)

    /// A device that writes one note after the other while something else happens.
    ///
    /// - Returns: the longest time from an upload to its answer.
    private func longestWait(
        _ fixture: GatewayFixture, uploads: Int = 30, while attack: @escaping @Sendable () async throws -> Void
    ) async throws -> Duration {
        let user = ObjectId().hexString, partition = fixture.partition()
        try await fixture.grant(.write, to: user, in: partition)
        let device = try await fixture.device(user)
        _ = try await device.open(partition)
        let attacking = Task { try await attack() }
        var longest = Duration.zero
        for version in 1...Int64(uploads) {
            let start = ContinuousClock.now
            try await device.upload(version, insert: "note-\(version)", into: partition)
            while true {
                let frame = try await device.next()
                if case .ack = frame { break }
                if case .error(let report) = frame { throw Device.Unexpected(what: "\(report)") }
            }
            longest = max(longest, ContinuousClock.now - start)
            try await Task.sleep(for: .milliseconds(50))  // uploads are spread over the attack
        }
        attacking.cancel()
        _ = try? await attacking.value
        device.close()
        return longest
    }

    @Test func `a user who opens and closes a partition all the time doesn't delay others`() async throws {
        let fixture = try await GatewayFixture()
        let eve = ObjectId().hexString, partition = fixture.partition()
        try await fixture.grant(.write, to: eve, in: partition)
        var devices: [Device] = []
        for _ in 0..<10 { devices.append(try await fixture.device(eve)) }
        let open = String(
            decoding: DeviceFrame.subscribe(partition: partition, checkpoint: Revision(epoch: 0, number: 0)).encoded(),
            as: UTF8.self)
        let close = String(decoding: DeviceFrame.unsubscribe(partition: partition).encoded(), as: UTF8.self)
        let wait = try await longestWait(fixture) { [devices] in
            while !Task.isCancelled {
                for device in devices {
                    for _ in 0..<20 {
                        device.send(text: open)
                        device.send(text: close)
                    }
                }
                try await Task.sleep(for: .milliseconds(20))  // the rate of the attack
            }
        }
        #expect(wait < Self.bound)
        for device in devices { device.close() }
        fixture.stop()
    }

    @Test func `partitions whose documents can't be read now leave connections for other apps`() async throws {
        let fixture = try await GatewayFixture(settings: ["postgres.connections": "4"])
        let app = "busy"
        var files = try AppFiles(folder: GatewayFixture.folder)
        files.texts["realm_config.json"] = files["realm_config.json"]?.replacingOccurrences(
            of: "\"rchat\"", with: "\"\(app)\"")
        try await fixture.deploy(files)
        fixture.store.define(AppStorage(try AppDefinition(files: files)))
        let eve = ObjectId().hexString
        let device = try await eventually("the app is known", within: .seconds(30)) { () -> Device? in
            do { return try await fixture.device(eve, app: app) } catch is Device.Unexpected { return nil }
        }
        // One of another app, that is about to be opened.
        let user = ObjectId().hexString, partition = fixture.partition()
        try await fixture.grant(.write, to: user, in: partition)
        let other = try await fixture.device(user)
        var devices = [device], partitions: [Partition] = []
        for _ in 0..<20 {
            let partition = fixture.partition()
            try await fixture.grant(.read, to: eve, in: partition, app: app)
            _ = try await fixture.store.collection("ChatMessage", database: "RChat", app: app)
                .insertOne([
                    "_id": .string(partition.text), "partition": .string(String(partition.text.dropFirst(2))),
                    "author": "eve", "text": "hello", "timestamp": .date(0),
                ])
            partitions.append(partition)
            devices.append(try await fixture.device(eve, app: app))
        }
        let table = try #require(
            try await fixture.postgres.query(
                "select relation::text from partita.collections where app = $1 and name = 'ChatMessage'", [.text(app)]
            ).first
        ).decode(0, as: String.self)
        try await fixture.postgres.withTransaction { transaction in
            try await transaction.execute("lock table \(table) in access exclusive mode")
            for (device, partition) in zip(devices, partitions) {
                try await device.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 1, number: 0)))
            }
            try await eventually("documents are waited for", within: .seconds(30)) {
                let row = try await fixture.postgres.query(
                    "select count(*) from pg_locks where not granted and relation = $1::regclass", [.text(table)])
                return try row.first?.decode(0, as: Int.self) ?? 0 > 0
            }
            _ = try await other.open(partition)
            try await other.upload(1, insert: "a-\(partition.text)", into: partition)
            guard case .ack = try await other.answer() else { throw Device.Unexpected(what: "no ack") }
        }
        // Those that waited are served.
        for (device, _) in zip(devices, partitions) {
            guard case .subscribed = try await device.next() else { throw Device.Unexpected(what: "not opened") }
        }
        for device in devices + [other] { device.close() }
        fixture.stop()
    }

    /// Spaces take no time to parse, but to inflate; numbers take it to parse.
    @Test(arguments: [String(repeating: "1,", count: 240_000), String(repeating: " ", count: 480_000)])
    func `small frames that are large when they are inflated don't delay others`(content: String) async throws {
        let fixture = try await GatewayFixture()
        let eve = ObjectId().hexString
        var devices: [Device] = []
        for _ in 0..<4 { devices.append(try await fixture.device(eve)) }
        let frame = #"{"type":"ping","x":[\#(content)1]}"#
        let wait = try await longestWait(fixture) { [devices] in
            for _ in 0..<300 {
                if Task.isCancelled { return }
                for device in devices { device.send(text: frame) }
            }
        }
        #expect(wait < Self.bound)
        for device in devices { device.close() }
        fixture.stop()
    }

    @Test func `large requests of one user don't delay others, though each is refused`() async throws {
        let fixture = try await GatewayFixture()
        let client = DataAPIClient(fixture: fixture, app: GatewayFixture.app, user: ObjectId().hexString)
        let body = """
            {"dataSource":"mongodb-atlas","database":"Test","collection":"ChatMessage",\
            "documents":[\(String(repeating: "{},", count: 5_500_000)){}]}
            """
        let wait = try await longestWait(fixture) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        while !Task.isCancelled {
                            // A task that isn't cancelled: a call of Foundation's URLSession that is cancelled as it ends may hang for ever.
                            let status = try await Task { try await client.post("insertMany", body).status }.value
                            #expect(status >= 400)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(wait < Self.bound)
        fixture.stop()
    }
}

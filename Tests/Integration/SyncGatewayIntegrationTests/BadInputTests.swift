import DocumentModel
import Foundation
import SyncEngine
import SyncProtocol
import Testing
import WebSocket

/// The errors that a welcomed device can make, and the codes that it gets.
@Suite struct BadInputTests {
    @Test func `a frame beyond the limit is a frameTooLarge`() async throws {
        let device = try await GatewayFixture.shared().device("ann")
        device.send(text: String(repeating: " ", count: FrameLimits.defaultBytes + 1))
        #expect(try await device.error().code == .frameTooLarge)
        #expect(try await device.end().code == .messageTooBig)
    }

    @Test func `a large frame before welcome is refused, since its sender is unknown`() async throws {
        let stranger = try await Device(port: try await GatewayFixture.shared().port)
        stranger.send(text: String(repeating: " ", count: (64 << 10) + 1))
        let error = try await stranger.error()
        #expect(error.code == .frameTooLarge)
        #expect(error.message.contains("65536"))
        #expect(try await stranger.end().code == .messageTooBig)
    }

    @Test(arguments: [
        #"{"type":"subscribe","partition":"i:RChat.User:1","checkpoint":"1.0"}"#,
        #"{"type":"subscribe","partition":"conversation=1","checkpoint":"1.0"}"#,
        #"{"type":"subscribe","partition":"o:123","checkpoint":"1.0"}"#,
        // The app's partitions are named by strings, and its key is required.
        #"{"type":"subscribe","partition":"n:","checkpoint":"1.0"}"#,
        #"{"type":"subscribe","partition":"l:5","checkpoint":"1.0"}"#,
        #"{"type":"subscribe","partition":"l:05","checkpoint":"1.0"}"#,
        #"{"type":"subscribe","partition":"o:5f8f8c44b54764421b7156c1","checkpoint":"1.0"}"#,
    ])
    func `a text that names no partition is an unknownPartition`(_ text: String) async throws {
        let device = try await GatewayFixture.shared().device("ann")
        device.send(text: text)
        let error = try await device.error()
        #expect(error.code == .unknownPartition && error.message.contains("s:abc for the string abc"), "\(error)")
    }

    @Test func `a frame at the wrong time has a code`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)

        let stranger = try await Device(port: fixture.port)
        try await stranger.send(.hello(.init(protocolName: "v0", device: "d", token: "x")))
        #expect(try await stranger.error().code == .unsupportedProtocol)

        let eager = try await fixture.device("ann")
        try await eager.send(.hello(.init(device: "d", token: fixture.token("ann"))))
        #expect(try await eager.error().code == .alreadyOpen)

        let early = try await fixture.device("ann")
        try await early.upload(1, insert: "m", into: partition)
        let report = try await early.error()
        #expect(report.code == .notSubscribed && report.partition == partition)

        let greedy = try await fixture.device("ann")
        let empty = Changeset(
            version: 1, clock: HybridTime(milliseconds: 1),
            operations: [.init(collection: "ChatMessage", id: "m", kind: .delete)])
        _ = try await greedy.open(partition)
        let changesets = (1...100).map { version in
            var changeset = empty
            changeset.version = Int64(version)
            return changeset
        }
        try await greedy.send(.upload(.init(partition: partition, sentAt: 0, changesets: changesets)))
        #expect(try await greedy.error().code == .uploadWindowExceeded)
    }

    @Test func `a partition beyond the limit is refused, and the others go on`() async throws {
        let fixture = try await GatewayFixture.shared()
        let device = try await fixture.device("ann")
        let partitions = (0...100).map { _ in fixture.partition() }
        for partition in partitions { try await fixture.grant(.write, to: "ann", in: partition) }
        for partition in partitions.dropLast() { _ = try await device.open(partition) }
        let last = partitions[100]
        try await device.send(.subscribe(partition: last, checkpoint: Revision(epoch: 0, number: 0)))
        let report = try await device.error()
        #expect(report.code == .tooManySubscriptions && report.partition == last && report.action == .close)

        _ = try await device.open(partitions[0])  // anew, in its own place
        try await device.send(.unsubscribe(partition: partitions[1]))
        _ = try await device.open(last)
    }

    @Test func `a renewed token must be the same user's, and valid`() async throws {
        let fixture = try await GatewayFixture.shared()
        for (token, code) in [
            (try fixture.token("bob"), SyncErrorCode.userChanged),
            (try fixture.token("ann", lifetime: -60), .tokenExpired),
            ("forged", .badToken),
        ] {
            let device = try await fixture.device("ann")
            try await device.send(.token(accessToken: token))
            #expect(try await device.error().code == code)
        }
    }

    @Test func `a changeset that can't be taken is rejected with its code, and the next one isn't`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let device = try await fixture.device("ann")
        _ = try await device.open(partition)
        let id: Value = .string("x-\(partition.text)")
        let value: Value = .string(String(partition.text.dropFirst(2)))
        let whole: Document = [
            "_id": id, "partition": value, "author": "a", "text": "t", "timestamp": .date(1),
        ]
        func insert(_ change: (inout Document) -> Void) -> SyncEngine.Operation {
            var document = whole
            change(&document)
            return .init(collection: "ChatMessage", id: id, kind: .insert(document))
        }
        var cases: [(OperationRejection.Code, SyncEngine.Operation)] = [
            (.schemaViolation, insert { $0["text"] = .int32(7) }),
            (.schemaViolation, insert { $0["timestamp"] = "yesterday" }),
            (.wrongPartition, insert { $0["partition"] = "conversation=other" }),
            (.badId, insert { $0["_id"] = "another" }),
            (.unknownCollection, .init(collection: "Nothing", id: id, kind: .insert(whole))),
            (
                .badUpdate,
                .init(
                    collection: "ChatMessage", id: id,
                    kind: .update(operators: ["$nonsense": ["a": 1]], arrayFilters: []))
            ),
        ]
        try await device.upload(1, insert: "x-\(partition.text)", into: partition)
        guard case .ack = try await device.answer() else { throw Device.Unexpected(what: "no ack") }
        let noIds: [Value] = [
            [1], .regex(RegularExpression("a")), .undefined, .string(String(repeating: "x", count: 1100)),
        ]
        cases += noIds.map { (.badId, .init(collection: "ChatMessage", id: $0, kind: .delete)) }
        for (index, (code, operation)) in cases.enumerated() {
            let changeset = Changeset(
                version: Int64(index + 2), clock: HybridTime(milliseconds: 1_700_000_000_000), operations: [operation])
            try await device.send(
                .upload(.init(partition: partition, sentAt: 1_700_000_000_000, changesets: [changeset])))
            guard case .rejected(let rejection) = try await device.answer() else {
                throw Device.Unexpected(what: "\(code) was not rejected")
            }
            #expect(rejection.reason.code == code)
        }
        try await device.upload(Int64(cases.count + 2), insert: "y-\(partition.text)", into: partition)
        guard case .ack = try await device.answer() else { throw Device.Unexpected(what: "no ack") }
    }
}

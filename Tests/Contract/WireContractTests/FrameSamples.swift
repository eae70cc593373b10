import DocumentModel
import SyncEngine
import SyncProtocol

/// Frames of every type, in each of their shapes; the golden file of each has its name.
enum FrameSamples {
    static let conversation = Partition(text: "s:conversation=64f0c1")
    static let message = ObjectId(high: 0x64F0_C1D2_E3F4_0516, low: 0x2738_495A)

    static let holdings: Holdings = {
        var holdings = Holdings()
        holdings.add(revision: Revision(epoch: 1, number: 42), incarnation: Revision(epoch: 1, number: 7))
        holdings.add(revision: Revision(epoch: 2, number: 1_000_000), incarnation: Revision(epoch: 1, number: 43))
        return holdings
    }()

    static let device: [(name: String, frame: DeviceFrame)] = [
        ("device.hello", .hello(.init(device: "d-7f3a", token: "header.claims.signature", schemaVersion: 3))),
        (
            "device.hello.compact",
            .hello(.init(device: "d-7f3a", token: "header.claims.signature", schemaVersion: 3, readsCompact: true))
        ),
        ("device.subscribe", .subscribe(partition: conversation, checkpoint: Revision(epoch: 1, number: 42))),
        (
            "device.subscribe.resume",
            .subscribe(
                partition: conversation, checkpoint: Revision(epoch: 0, number: 0), resume: "1.44/2/0.0")
        ),
        (
            "device.subscribe.holds",
            .subscribe(partition: conversation, checkpoint: Revision(epoch: 2, number: 1_000_000), holds: holdings)
        ),
        ("device.subscribe.first", .subscribe(partition: conversation, checkpoint: Revision(epoch: 0, number: 0))),
        ("device.unsubscribe", .unsubscribe(partition: Partition(text: "u:00112233-4455-6677-8899-aabbccddeeff"))),
        ("device.upload", .upload(upload)),
        (
            "device.upload.id",
            .upload(
                .init(
                    partition: conversation, sentAt: 1_700_000_000_456,
                    changesets: [
                        Changeset(
                            version: 10, clock: HybridTime(milliseconds: 1_700_000_000_402), id: "6a0f1d",
                            operations: [
                                Operation(collection: "User", id: "u1", kind: .delete)
                            ])
                    ]))
        ),
        ("device.presence", .presence(.init(state: "away", data: ["mood": "tired \u{1F634}"], watch: ["u1", "u2"]))),
        ("device.presence.short", .presence(.init(state: "online"))),
        ("device.token", .token(accessToken: "header.claims.signature")),
        ("device.ping", .ping),
    ]

    static let gateway: [(name: String, frame: GatewayFrame)] = [
        (
            "gateway.welcome",
            .welcome(
                .init(session: "c-19", serverTime: 1_700_000_000_123, limits: GatewayFrame.Limits(ConnectionLimits())))
        ),
        (
            "gateway.subscribed",
            .subscribed(
                .init(
                    partition: conversation, access: .write, head: Revision(epoch: 2, number: 1_000_000),
                    lastVersion: 7))
        ),
        (
            "gateway.subscribed.holds",
            .subscribed(
                .init(
                    partition: conversation, access: .read, head: Revision(epoch: 2, number: 1_000_000),
                    lastVersion: 0, holds: .different))
        ),
        (
            "gateway.ack",
            .ack(.init(partition: conversation, version: 8, revision: Revision(epoch: 1, number: 44)))
        ),
        (
            "gateway.ack.lost",
            .ack(
                .init(
                    partition: conversation, version: 9, revision: Revision(epoch: 1, number: 45),
                    lost: [
                        LostWrite(operation: 0, reason: .overwritten, paths: ["text", "author.name"]),
                        LostWrite(operation: 2, reason: .deleted),
                    ]))
        ),
        ("gateway.access", .access(partition: conversation, .read)),
        ("gateway.forked", .forked(partition: conversation, version: 5)),
        (
            "gateway.rejected",
            .rejected(
                .init(
                    partition: conversation, version: 10,
                    reason: OperationRejection(
                        code: .schemaViolation, reason: "text is not a string", path: "text", rule: "ChatMessage")))
        ),
        ("gateway.download.live", .download(partition: conversation, live)),
        ("gateway.download.chunk", .download(partition: conversation, chunk)),
        ("gateway.download.chunk.open", .download(partition: conversation, openChunk)),
        ("gateway.revoked", .revoked(partition: conversation, reason: "notPermitted")),
        (
            "gateway.presence",
            .presence(.init(user: "u1", state: "offline", lastSeen: 1_700_000_000_000, data: ["left": true]))
        ),
        (
            "gateway.error",
            .error(.init(SyncProtocolError(code: .badFrame, message: "a byte can't stand here", offset: 17)))
        ),
        (
            "gateway.error.partition",
            .error(.init(code: .permissionsUnavailable, message: "try again", partition: conversation))
        ),
        (
            "gateway.error.later",
            .error(
                .init(
                    code: .tooManyQuestions, message: "try again later", partition: conversation,
                    retryAfter: .milliseconds(1500)))
        ),
        ("gateway.pong", .pong),
    ]

    /// Downloads for devices that read compact ones.
    static let compact: [(name: String, frame: GatewayFrame)] = [
        ("gateway.download.compact.live", .download(partition: conversation, live)),
        ("gateway.download.compact.chunk", .download(partition: conversation, twoCollections)),
    ]

    private static let upload = DeviceFrame.Upload(
        partition: conversation, sentAt: 1_700_000_000_456,
        changesets: [
            Changeset(
                version: 8, clock: HybridTime(milliseconds: 1_700_000_000_400, counter: 2),
                operations: [
                    Operation(
                        collection: "ChatMessage", id: .objectId(message),
                        kind: .insert([
                            "_id": .objectId(message), "text": "caf\u{E9} \"quoted\"\n\u{0}",
                            "at": .date(1_700_000_000_000),
                            "count": .int32(1), "big": .int64(9_007_199_254_740_993), "ratio": .double(0.5),
                        ])),
                    Operation(
                        collection: "User", id: "u1",
                        kind: .update(
                            operators: [
                                "$set": ["conversations.$[c].unread": .int32(0)], "$inc": ["total": .int64(-1)],
                            ],
                            arrayFilters: [["c.id": "64f0c1"]]),
                        incarnation: Revision(epoch: 1, number: 3), base: Revision(epoch: 1, number: 40)),
                ]),
            Changeset(
                version: 9, clock: HybridTime(milliseconds: 1_700_000_000_401),
                operations: [
                    Operation(
                        collection: "ChatMessage", id: .int64(5), kind: .delete,
                        incarnation: Revision(epoch: 1, number: 12), base: Revision(epoch: 1, number: 30))
                ]),
        ])

    private static let live = Download(
        from: Revision(epoch: 1, number: 42), to: Revision(epoch: 1, number: 44),
        changes: [
            DocumentChange(
                collection: "ChatMessage", id: .objectId(message), revision: Revision(epoch: 1, number: 43),
                incarnation: Revision(epoch: 1, number: 43),
                document: ["_id": .objectId(message), "text": "hello"],
                origin: DocumentChange.Origin(device: "d-7f3a", version: 8)),
            DocumentChange(
                collection: "ChatMessage", id: "old", revision: Revision(epoch: 1, number: 44),
                incarnation: Revision(epoch: 1, number: 2), document: nil),
        ])

    private static let chunk = Download(
        from: Revision(epoch: 1, number: 0), to: Revision(epoch: 1, number: 44),
        changes: [
            DocumentChange(
                collection: "User", id: "u1", revision: Revision(epoch: 1, number: 40),
                incarnation: Revision(epoch: 1, number: 3), document: ["_id": "u1", "total": .int64(4)])
        ],
        catchUp: Download.CatchUp(isFinal: true, lastVersion: 7, progress: CatchUpProgress(done: 3, total: 3)))

    /// A document and a deletion in one collection, then a document of another that was inserted again.
    private static var twoCollections: Download {
        var chunk = chunk
        chunk.changes += [
            DocumentChange(
                collection: "User", id: "u2", revision: Revision(epoch: 1, number: 41),
                incarnation: Revision(epoch: 1, number: 41), document: nil),
            DocumentChange(
                collection: "ChatMessage", id: .objectId(message), revision: Revision(epoch: 1, number: 44),
                incarnation: Revision(epoch: 1, number: 44), document: ["_id": .objectId(message), "text": "hello"]),
        ]
        return chunk
    }

    /// One that others follow.
    private static var openChunk: Download {
        var chunk = chunk
        chunk.catchUp = Download.CatchUp(
            isFinal: false, lastVersion: 7, progress: CatchUpProgress(done: 1, total: 3), resume: "1.44/2/0.0")
        return chunk
    }
}

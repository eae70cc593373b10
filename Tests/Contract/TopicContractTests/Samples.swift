import DocumentModel
import EventTopics

/// An event whose message is in a golden file.
struct Sample: Sendable {
    let name: String
    let topic: String
    let encoded: EncodedEvent
    /// Reads a message of the same type and writes it again.
    let rewrite: @Sendable ([UInt8], EventAttributes) throws -> EncodedEvent

    init<Payload: EventPayload>(_ name: String, _ payload: Payload, traceparent: String? = nil) {
        self.name = name
        topic = Payload.topic.name
        encoded = EventEnvelope.encode(payload, traceparent: traceparent)
        rewrite = { value, attributes in
            EventEnvelope.encode(
                try EventEnvelope.decode(Payload.self, value: value, attributes: attributes),
                traceparent: attributes.traceparent)
        }
    }
}

/// One of every event, with all of its fields, and those that differ most from it.
enum Samples {
    static let all: [Sample] =
        documents + accounts + grants + media + schemas + [
            Sample("presence-online", presence(.online)),
            Sample("presence-offline", presence(.offline)),
            Sample("presence-said", said),
            Sample("push-registered", push("token:of+the/service")),
            Sample("push-deregistered", push(nil)),
            Sample("signing-key", signingKey),
            Sample("app-deployed", AppDefinitionEvent(app: "rchat", version: 7, time: time)),
            Sample("trigger-failed", triggerFailure),
            Sample("trigger-failed-by-loop", triggerLoop), Sample("trigger-failed-large", largeFailure),
            Sample(
                "audit-recorded",
                AuditEvent(
                    id: "66a0c2a10000000000000009", app: "rchat", token: "66a0c2a10000000000000008",
                    tokenName: "ada@build-1", role: "users", action: "user.disable",
                    target: "64f0c2a10000000000000001", outcome: "done", address: "198.51.100.7", time: time)),
            Sample(
                "audit-refused",
                AuditEvent(
                    id: "66a0c2a1000000000000000a", app: "*", token: "66a0c2a10000000000000008",
                    tokenName: "ada@build-1", role: "users", action: "audit.read", outcome: "AdminRoleMissing",
                    address: "198.51.100.7", time: time)),
        ]

    private static let time: Int64 = 1_763_724_316_123
    private static let partition = Partition(text: "s:conversation=64f0c2")
    private static let namespace = ChangeEvent.Namespace(database: "rchat", collection: "ChatMessage")
    private static let message = Value.objectId(ObjectId(high: 0x64f0_c2a1_0000_0001, low: 0xdead_beef))
    private static let origin = ChangeEvent.Origin(user: "u1", device: "d1", version: 12)
    private static let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    private static func change(_ type: ChangeEvent.OperationType, _ number: Int64) -> ChangeEvent {
        ChangeEvent(
            app: "rchat", namespace: namespace, operationType: type, documentKey: message, partition: partition,
            revision: Revision(epoch: 1, number: number), incarnation: Revision(epoch: 1, number: 41),
            clusterTime: Timestamp(seconds: 1_763_724_316, increment: 3), wallTime: time)
    }

    private static let documents: [Sample] = {
        let body: Document = [
            "_id": message, "partition": "conversation=64f0c2", "text": "Grüße \"von\" hier\n", "likes": .int32(2),
            "size": .int64(2), "score": .double(2), "timestamp": .date(time), "image": .binary(Binary([0, 255])),
            "location": .null,
        ]
        var insert = change(.insert, 41)
        insert.fullDocument = body
        insert.origin = origin
        var first = insert
        first.continues = true
        var update = change(.update, 42)
        update.fullDocument = body
        update.fullDocumentBeforeChange = ["_id": message]
        update.updateDescription = UpdateDescription(
            updatedFields: ["likes": .int32(2), "author.name": "Ann"], removedFields: ["draft"],
            truncatedArrays: [.init(field: "tags", newSize: 3)])
        update.movedFrom = .init(partition: Partition(text: "l:7"), revision: Revision(epoch: 1, number: 9))
        update.origin = origin
        var byTriggers = change(.update, 45)
        byTriggers.updateDescription = UpdateDescription(updatedFields: ["likes": .int32(3)])
        byTriggers.causedBy = chain
        var delete = change(.delete, 43)
        delete.fullDocumentBeforeChange = body
        return [
            Sample("document-inserted", DocumentChangesEvent.change(insert), traceparent: trace),
            Sample("document-inserted-first-of-commit", DocumentChangesEvent.change(first), traceparent: trace),
            Sample("document-updated", DocumentChangesEvent.change(update)),
            Sample("document-updated-by-triggers", DocumentChangesEvent.change(byTriggers)),
            Sample("document-deleted", DocumentChangesEvent.change(delete)),
            Sample(
                "document-changed-large",
                DocumentChangesEvent.large(
                    LargeChange(
                        app: "rchat", namespace: namespace, operationType: .insert, documentKey: message,
                        partition: partition, revision: Revision(epoch: 2, number: 44),
                        incarnation: Revision(epoch: 2, number: 44), origin: origin, size: 2_400_000, wallTime: time))),
            Sample(
                "document-changed-large-first-of-commit",
                DocumentChangesEvent.large(
                    LargeChange(
                        app: "rchat", namespace: namespace, operationType: .insert, documentKey: message,
                        partition: partition, revision: Revision(epoch: 2, number: 44),
                        incarnation: Revision(epoch: 2, number: 44), origin: origin, size: 2_400_000, wallTime: time,
                        continues: true))),
            Sample(
                "document-changed-large-moved",
                DocumentChangesEvent.large(
                    LargeChange(
                        app: "rchat", namespace: namespace, operationType: .update, documentKey: message,
                        partition: partition, revision: Revision(epoch: 2, number: 45),
                        incarnation: Revision(epoch: 1, number: 3),
                        movedFrom: .init(
                            partition: Partition(text: "s:conversation=7"), revision: Revision(epoch: 2, number: 9)),
                        size: 2_400_000, wallTime: time))),
            Sample(
                "partition-head",
                DocumentChangesEvent.head(
                    PartitionHead(
                        app: "rchat", partition: Partition(text: "i:rchat.Log:3"),
                        head: Revision(epoch: 1, number: 900),
                        time: time))),
        ]
    }()

    private static let accounts: [Sample] = AuthEvent.Kind.allCases.map { kind in
        Sample(
            "auth-\(kind.rawValue)",
            AuthEvent(
                id: "018c-\(kind.rawValue)", app: "rchat", kind: kind, userID: "64f0c2a1",
                user: ["id": "64f0c2a1", "type": "normal", "data": ["email": "ann@example.org"], "identities": []],
                providers: ["local-userpass"], session: kind == .userCreated ? nil : "s1",
                device: kind == .userCreated ? nil : "d1",
                accessUntil: kind == .signedOut || kind == .sessionRevoked ? time + 1_800_000 : nil, time: time))
    }

    private static let grants: [Sample] = [
        Sample(
            "permission-asked",
            PermissionRequest(
                id: "018c-asked", app: "rchat", user: "u1", partition: partition,
                claims: ["id": "u1", "type": "normal", "data": [:], "identities": []], requester: "gateway-1",
                time: time)),
        Sample(
            "grant-decided",
            GrantsEvent.grant(
                Grant(
                    app: "rchat", user: "u1", partition: partition, access: .write,
                    version: Revision(epoch: 1, number: 3), reason: "rule canWritePartition", expires: time + 5000,
                    time: time))),
        Sample(
            "grant-revoked-for-everyone",
            GrantsEvent.grant(
                Grant(
                    app: "rchat", user: EventKey.everyone, partition: Partition(text: "s:all-users=all-the-users"),
                    access: .none, version: Revision(epoch: 1, number: 4), reason: "rule removed", isFence: true,
                    time: time))),
        Sample(
            "grant-heartbeat",
            GrantsEvent.heartbeat(
                GrantHeartbeat(kafkaPartition: 11, sender: "permissions-1", number: 77, time: time, validFor: 5000))),
        Sample(
            "fence-stopped",
            FenceAck(
                app: "rchat", user: "u1", partition: partition, version: Revision(epoch: 1, number: 4),
                gateway: "gateway-1", time: time)),
        Sample(
            "revocation-completed",
            RevocationReceipt(
                app: "rchat", user: "u1", partition: partition, version: Revision(epoch: 1, number: 4),
                answered: ["gateway-1", "gateway-2"], lapsed: ["gateway-3"], time: time)),
    ]

    private static let schemas: [Sample] = [
        Sample("schema-asked", SchemaRequest(id: "r1", app: "rchat", user: "u1", classes: [1, 2, 255], time: time)),
        Sample("schema-added", SchemaAnswer(request: "r1", app: "rchat", refusal: nil, time: time)),
        Sample("schema-refused", SchemaAnswer(request: "r1", app: "rchat", refusal: "it differs", time: time)),
    ]

    private static let media: [Sample] = [
        Sample(
            "media-job-offload",
            MediaJob(
                app: "rchat", kind: .offload, namespace: namespace, documentKey: message, partition: partition,
                revision: Revision(epoch: 1, number: 41), path: "image.picture", time: time)),
        Sample(
            "media-job-remove",
            MediaJob(
                app: "rchat", kind: .remove, namespace: namespace, documentKey: message, partition: partition,
                revision: Revision(epoch: 1, number: 43), path: "image.picture", object: "rchat/ab/cdef", attempts: 2,
                time: time)),
        Sample(
            "media-offloaded",
            MediaEvent(
                app: "rchat", kind: .offloaded, namespace: namespace, documentKey: message, partition: partition,
                revision: Revision(epoch: 1, number: 41), path: "image.link", object: "rchat/ab/cdef", size: 2_097_152,
                contentType: "image/jpeg", time: time)),
        Sample(
            "media-removed",
            MediaEvent(
                app: "rchat", kind: .removed, namespace: namespace, documentKey: message, partition: partition,
                revision: Revision(epoch: 1, number: 43), path: "image.link", object: "rchat/ab/cdef", time: time)),
    ]

    private static let said = PresenceEvent(
        app: "rchat", user: "u1", device: "d1", state: .said, isUserOnline: true, lastSeen: time, version: time,
        word: "away", data: ["until": .int32(17)])

    private static func presence(_ state: PresenceEvent.State) -> PresenceEvent {
        PresenceEvent(
            app: "rchat", user: "u1", device: "d1", state: state, why: state == .offline ? .expired : nil,
            isUserOnline: state == .online, lastSeen: time, version: 5)
    }

    private static func push(_ token: String?) -> PushRegistrationEvent {
        PushRegistrationEvent(
            app: "rchat", user: "u1", device: "d1", provider: "gcm", token: token, version: 2, time: time)
    }

    private static let signingKey = SigningKeyEvent(
        keyID: "k1",
        jwk: ["kty": "EC", "crv": "P-256", "x": "AQ", "y": "Ag", "kid": "k1", "alg": "ES256", "use": "sig"],
        notBefore: time, expires: time + 86_400_000)

    private static let chain = TriggerChain(
        beginning: "rchat/s:user=u1/1.4",
        links: [.init(trigger: "count", runs: 2), .init(trigger: "userDocWrittenTo", runs: 3)])

    private static let triggerLoop = TriggerFailure(
        app: "rchat", trigger: "userDocWrittenTo", failedEvent: "rchat/s:user=u1/1.6",
        event: ["operationType": "update", "documentKey": ["_id": "u1"]],
        error: .init(code: "trigger-loop", message: "it has caused itself", function: "userDocWrittenTo"),
        causedBy: chain, attempts: 1, time: time)

    private static let largeFailure = TriggerFailure(
        app: "rchat", trigger: "userDocWrittenTo", failedEvent: "rchat/s:user=u1/1.7",
        event: [
            "operationType": "insert", "documentKey": ["_id": "u1"], "fullDocument": ["_id": "u1", "photo": "large"],
            "wallTime": .date(time),
        ], error: .init(code: "FunctionExecutionError", message: "too large"), attempts: 5, time: time
    ).cut

    private static let triggerFailure = TriggerFailure(
        app: "rchat", trigger: "userDocWrittenTo", failedEvent: "rchat/s:user=u1/1.5",
        event: ["operationType": "update", "documentKey": ["_id": "u1"]],
        error: .init(
            code: "FunctionExecutionError", message: "x is not a function", function: "userDocWrittenTo", line: 12),
        attempts: 5, time: time)
}

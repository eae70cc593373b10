/// The contract of one topic, apart from its payload's type.
public struct TopicContract: Hashable, Sendable {
    /// Which messages the broker may delete.
    public enum Cleanup: Hashable, Sendable {
        /// It deletes messages that are older than this.
        case delete(after: Duration)
        /// It deletes all but each key's last message; a message without a value removes the key.
        case compact
    }

    /// A service of Partita.
    public enum Service: String, Hashable, Sendable {
        case auth
        case permissions
        case syncGateway = "sync-gateway"
        case triggerWorkers = "trigger-workers"
        case mediaOffload = "media-offload"
        case tool = "partita"
    }

    /// The topic's name within its pool.
    public let name: String
    /// A sentence about the meaning of its events.
    public let summary: String
    /// The number of partitions with which it is created; fixed for a pool, since keys would move otherwise.
    public let partitions: Int
    /// Which messages the broker may delete.
    public let cleanup: Cleanup
    /// The pattern of its keys, with placeholders: `{app}/{partition}`.
    public let key: String
    /// The `ce_type` values of its events.
    public let types: [String]
    /// The services that write it.
    public let writers: [Service]
    /// The services that read it.
    public let readers: [Service]

    /// The name on the broker.
    /// - Parameter pool: lower-case letters, digits and hyphens.
    public func fullName(pool: String) -> String { "partita.\(pool).\(name)" }

    /// The broker's settings for the topic that readers rely on.
    public var configuration: [String: String] {
        switch cleanup {
        case .delete(let age): ["cleanup.policy": "delete", "retention.ms": "\(age.components.seconds * 1000)"]
        case .compact: ["cleanup.policy": "compact"]
        }
    }

    /// How long the broker writes a segment. It deletes, and compacts, only segments that it no longer writes: with its own default they would
    /// keep personal data for a week longer than said.
    public var segment: Duration {
        let day = Duration.seconds(86_400)
        return switch cleanup {
        case .delete(let age): min(age, day)
        case .compact: day
        }
    }
}

/// A topic whose events are `Payload`s.
public struct Topic<Payload: EventPayload>: Sendable {
    /// The topic's contract.
    public let contract: TopicContract

    init(
        _ name: String, _ summary: String, partitions: Int, cleanup: TopicContract.Cleanup, key: String,
        types: [String],
        writers: [TopicContract.Service], readers: [TopicContract.Service]
    ) {
        contract = TopicContract(
            name: name, summary: summary, partitions: partitions, cleanup: cleanup, key: key, types: types,
            writers: writers, readers: readers)
    }

    /// The topic's name within its pool.
    public var name: String { contract.name }

    /// The number of partitions with which it is created; on the embedded broker it may have a different number (see
    /// `KafkaAdmin.metadata`).
    public var partitions: Int { contract.partitions }

    /// The name on the broker.
    public func fullName(pool: String) -> String { contract.fullName(pool: pool) }
}

/// All topics of a pool.
public enum Topics {
    /// Their contracts, by name.
    public static let all: [TopicContract] = [
        AppDefinitionEvent.topic.contract, AuditEvent.topic.contract, AuthEvent.topic.contract,
        DocumentChangesEvent.topic.contract,
        FenceAck.topic.contract, MediaEvent.topic.contract, MediaJob.topic.contract, GrantsEvent.topic.contract,
        PermissionRequest.topic.contract, PresenceEvent.topic.contract, PushRegistrationEvent.topic.contract,
        RevocationReceipt.topic.contract, SchemaAnswer.topic.contract, SchemaRequest.topic.contract,
        SigningKeyEvent.topic.contract,
        TriggerFailure.topic.contract,
    ]

    /// All services, without the tool.
    static let services: [TopicContract.Service] = [
        .auth, .permissions, .syncGateway, .triggerWorkers, .mediaOffload,
    ]
}

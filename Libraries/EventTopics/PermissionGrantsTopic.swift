import DocumentModel

/// The topic `permission-grants`: which user may read or write which partition, as stored in Postgres.
///
/// Written by permissions: the relay of its rows, and heartbeats on every Kafka partition. Read by gateways and media offload,
/// whose leases hold only while heartbeats arrive.
///
/// A request for a pair without a grant that is denied, or that a grant for all users answers, gets a grant of number 0, which is removed
/// immediately: a message without a value means that there is no grant for the key.
public enum GrantsEvent: Sendable {
    /// The current grant of a pair. One with less access than before revokes the earlier one.
    case grant(Grant)
    /// Permissions was alive, and this Kafka partition accepted messages, at that time.
    case heartbeat(GrantHeartbeat)

    static let grantType = "partita.grant.decided.v1"
    static let heartbeatType = "partita.grant.heartbeat.v1"

    /// The key of a pair's grants.
    /// - Parameter user: the user's id, or `EventKey.everyone`.
    public static func key(app: String, user: String, partition: Partition) -> String {
        EventKey.text(app, user, partition.text)
    }

    /// The app, user and partition of the key of a grant; `nil` when it isn't one.
    public static func parse(key: String) -> (app: String, user: String, partition: Partition)? {
        guard let parts = EventKey.parts(key, count: 3) else { return nil }
        return (String(parts[0]), String(parts[1]), Partition(text: String(parts[2])))
    }
}

/// The permissions service's decision for a user and a partition.
public struct Grant: Hashable, Sendable {
    /// The allowed access; each level includes the ones before.
    public enum Access: String, Comparable, CaseIterable, Sendable {
        case none, read, write
        public static func < (a: Access, b: Access) -> Bool {
            (allCases.firstIndex(of: a) ?? 0) < (allCases.firstIndex(of: b) ?? 0)
        }
    }

    @ExactText public var app: String
    /// The user's id; `EventKey.everyone` if the rule doesn't depend on the user.
    @ExactText public var user: String
    public var partition: Partition
    public var access: Access
    /// The number of the decision about this pair, as (epoch, number); an older one never replaces a newer one.
    public var version: Revision
    /// The rule that decided, in words for people.
    public var reason: String
    /// The time (milliseconds since 1970) after which it must not be used, because it depends on data whose changes can't be
    /// observed; `nil`: it is valid until it is replaced.
    public var expires: Int64?
    /// Whether it revokes an earlier right to read: every gateway stops serving the pair, and acknowledges this in `fence-acks`.
    public var isFence: Bool
    /// When it was decided, in milliseconds since 1970.
    public var time: Int64

    /// Whether it is for all users who have no grant of their own.
    public var isForEveryone: Bool { user.hasSameBytes(as: EventKey.everyone) }

    /// Creates a grant.
    public init(
        app: String, user: String, partition: Partition, access: Access, version: Revision, reason: String,
        expires: Int64? = nil, isFence: Bool = false, time: Int64
    ) {
        self.app = app
        self.user = user
        self.partition = partition
        self.access = access
        self.version = version
        self.reason = reason
        self.expires = expires
        self.isFence = isFence
        self.time = time
    }
}

/// A heartbeat. A gateway's lease counts from the time at which it was sent, not from the time at which it was read.
public struct GrantHeartbeat: Hashable, Sendable {
    /// The partition of the topic that it was sent to.
    public var kafkaPartition: Int32
    /// The instance that sent it.
    @ExactText public var sender: String
    /// The heartbeat's number, which increases per sender.
    public var number: Int64
    /// When it was sent, in milliseconds since 1970.
    public var time: Int64
    /// How long after `time` a gateway's lease lasts, in milliseconds.
    public var validFor: Int64

    /// Creates a heartbeat.
    public init(kafkaPartition: Int32, sender: String, number: Int64, time: Int64, validFor: Int64) {
        self.kafkaPartition = kafkaPartition
        self.sender = sender
        self.number = number
        self.time = time
        self.validFor = validFor
    }
}

extension GrantsEvent: EventPayload {
    public static let topic = Topic<GrantsEvent>(
        "permission-grants", "Who may read or write which partition, and heartbeats.", partitions: 12,
        cleanup: .compact,
        key: "{app}/{user}/{partition}", types: [grantType, heartbeatType], writers: [.permissions],
        readers: [.syncGateway, .mediaOffload])

    public var app: String {
        switch self {
        case .grant(let grant): grant.app
        case .heartbeat: EventKey.everyone
        }
    }

    public var key: String {
        switch self {
        case .grant(let grant): Self.key(app: grant.app, user: grant.user, partition: grant.partition)
        // A key of its own for each partition, so that compaction keeps one heartbeat there.
        case .heartbeat(let beat): EventKey.text(EventKey.everyone, "heartbeat", "\(beat.kafkaPartition)")
        }
    }

    public var type: String {
        switch self {
        case .grant: Self.grantType
        case .heartbeat: Self.heartbeatType
        }
    }

    public var eventID: String {
        switch self {
        case .grant(let grant): "\(key)/\(grant.version)"
        case .heartbeat(let beat): "\(key)/\(beat.sender)/\(beat.number)"
        }
    }

    public var subject: String {
        switch self {
        case .grant(let grant): "\(grant.user)/\(grant.partition.text)"
        case .heartbeat(let beat): "heartbeat/\(beat.kafkaPartition)"
        }
    }

    public var time: Int64 {
        switch self {
        case .grant(let grant): grant.time
        case .heartbeat(let beat): beat.time
        }
    }

    public func encoded() -> Document {
        switch self {
        case .grant(let grant):
            var document: Document = [
                "app": .string(grant.app), "user": .string(grant.user), "partition": .string(grant.partition.text),
                "access": .string(grant.access.rawValue), "version": .string(grant.version.description),
                "reason": .string(grant.reason),
            ]
            document.append("expires", grant.expires.map(Value.date))
            document.append("fence", grant.isFence ? .bool(true) : nil)
            document.append("time", .date(grant.time))
            return document
        case .heartbeat(let beat):
            return [
                "kafkaPartition": .int32(beat.kafkaPartition), "sender": .string(beat.sender),
                "number": .int64(beat.number), "time": .date(beat.time), "validFor": .int64(beat.validFor),
            ]
        }
    }

    public init(_ document: Document, attributes: EventAttributes) throws(EventTopicsError) {
        let reader = FieldReader(document)
        switch attributes.type {
        case Self.grantType:
            self = .grant(
                Grant(
                    app: try reader.string("app"), user: try reader.string("user"),
                    partition: try reader.partition("partition"),
                    access: try reader.choice("access", Grant.Access.self),
                    version: try reader.revision("version"), reason: try reader.string("reason"),
                    expires: try reader.optionalDate("expires"),
                    isFence: try reader.optional("fence", \.boolValue) ?? false, time: try reader.date("time")))
        case Self.heartbeatType:
            self = .heartbeat(
                GrantHeartbeat(
                    kafkaPartition: Int32(truncatingIfNeeded: try reader.integer("kafkaPartition")),
                    sender: try reader.string("sender"), number: try reader.integer("number"),
                    time: try reader.date("time"), validFor: try reader.integer("validFor")))
        default: throw EventTopicsError(.unknownType, "\(attributes.type) is not in \(Self.topic.name)")
        }
    }
}

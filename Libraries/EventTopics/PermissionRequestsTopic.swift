import DocumentModel

/// The topic `permission-requests`: may this user open this partition? The answer is a grant in `permission-grants`.
///
/// Written by gateways; media offload asks before it hands out bytes. Read by permissions.
public struct PermissionRequest: Sendable {
    /// Made by who asks; the same when it asks again after a timeout.
    @ExactText public var id: String
    @ExactText public var app: String
    /// The user's id.
    @ExactText public var user: String
    public var partition: Partition
    /// What the access token says of the user (`id`, `type`, `data`, `identities`): `%%user` in rules, `context.user` in functions.
    public var claims: Document
    /// The instance that asks.
    public var requester: String
    /// Milliseconds since 1970.
    public var time: Int64

    /// A question.
    public init(
        id: String, app: String, user: String, partition: Partition, claims: Document, requester: String, time: Int64
    ) {
        self.id = id
        self.app = app
        self.user = user
        self.partition = partition
        self.claims = claims
        self.requester = requester
        self.time = time
    }
}

extension PermissionRequest: EventPayload {
    static let askedType = "partita.permission.asked.v1"

    public static let topic = Topic<PermissionRequest>(
        "permission-requests", "Questions whether a user may open a partition.", partitions: 4,
        cleanup: .delete(after: .seconds(600)), key: "{app}/{user}/{partition}", types: [askedType],
        writers: [.syncGateway, .mediaOffload], readers: [.permissions])

    public var key: String { EventKey.text(app, user, partition.text) }
    public var type: String { Self.askedType }
    public var eventID: String { id }
    public var subject: String { "\(user)/\(partition.text)" }

    public func encoded() -> Document {
        [
            "app": .string(app), "user": .string(user), "partition": .string(partition.text),
            "claims": .document(claims), "requester": .string(requester), "time": .date(time),
        ]
    }

    public init(_ document: Document, attributes: EventAttributes) throws(EventTopicsError) {
        try attributes.require(type: Self.askedType, of: Self.topic.name)
        let reader = FieldReader(document)
        self.init(
            id: attributes.id, app: try reader.string("app"), user: try reader.string("user"),
            partition: try reader.partition("partition"), claims: try reader.document("claims"),
            requester: try reader.string("requester"), time: try reader.date("time"))
    }
}

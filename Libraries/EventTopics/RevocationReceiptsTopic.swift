import DocumentModel

/// The topic `revocation-receipts`: no gateway serves a partition any more to a user whose right to it was revoked.
///
/// Written by permissions for external consumers that need a proof of the revocation.
public struct RevocationReceipt: Hashable, Sendable {
    @ExactText public var app: String
    /// The user, as in the grant.
    @ExactText public var user: String
    public var partition: Partition
    /// The version of the grant that revoked the right.
    public var version: Revision
    /// The gateways that have acknowledged that they stopped.
    public var answered: [String]
    /// The gateways that didn't answer and whose leases have expired.
    public var lapsed: [String]
    /// When the last of them stopped, in milliseconds since 1970.
    public var time: Int64

    /// Creates a receipt.
    public init(
        app: String, user: String, partition: Partition, version: Revision, answered: [String], lapsed: [String],
        time: Int64
    ) {
        self.app = app
        self.user = user
        self.partition = partition
        self.version = version
        self.answered = answered
        self.lapsed = lapsed
        self.time = time
    }
}

extension RevocationReceipt: EventPayload {
    static let completedType = "partita.revocation.completed.v1"

    public static let topic = Topic<RevocationReceipt>(
        "revocation-receipts", "No gateway serves a revoked pair any more.", partitions: 4,
        cleanup: .delete(after: .seconds(604_800)), key: "{app}/{user}/{partition}", types: [completedType],
        writers: [.permissions], readers: [])

    public var key: String { EventKey.text(app, user, partition.text) }
    public var type: String { Self.completedType }
    public var eventID: String { "\(key)/\(version)" }
    public var subject: String { "\(user)/\(partition.text)" }

    public func encoded() -> Document {
        [
            "app": .string(app), "user": .string(user), "partition": .string(partition.text),
            "version": .string(version.description), "answered": .array(answered.map(Value.string)),
            "lapsed": .array(lapsed.map(Value.string)), "time": .date(time),
        ]
    }

    public init(_ document: Document, attributes: EventAttributes) throws(EventTopicsError) {
        try attributes.require(type: Self.completedType, of: Self.topic.name)
        let reader = FieldReader(document)
        self.init(
            app: try reader.string("app"), user: try reader.string("user"),
            partition: try reader.partition("partition"), version: try reader.revision("version"),
            answered: try reader.strings("answered"), lapsed: try reader.strings("lapsed"),
            time: try reader.date("time"))
    }
}

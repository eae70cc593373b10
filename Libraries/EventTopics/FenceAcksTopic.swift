import DocumentModel

/// The topic `fence-acks`: a gateway has stopped serving a pair of user and partition whose grant was lowered.
///
/// Written by gateways. Read by permissions, which publishes the receipt when each gateway has answered or its lease has expired.
public struct FenceAck: Hashable, Sendable {
    @ExactText public var app: String
    /// The user, as in the grant.
    @ExactText public var user: String
    public var partition: Partition
    /// The version of the grant that it acknowledges.
    public var version: Revision
    /// The gateway instance that has stopped serving the pair.
    @ExactText public var gateway: String
    /// When it stopped, in milliseconds since 1970.
    public var time: Int64

    /// Creates an acknowledgement.
    public init(app: String, user: String, partition: Partition, version: Revision, gateway: String, time: Int64) {
        self.app = app
        self.user = user
        self.partition = partition
        self.version = version
        self.gateway = gateway
        self.time = time
    }
}

extension FenceAck: EventPayload {
    static let stoppedType = "partita.fence.stopped.v1"

    public static let topic = Topic<FenceAck>(
        "fence-acks", "A gateway has stopped serving a revoked pair.", partitions: 4,
        cleanup: .delete(after: .seconds(600)), key: "{app}/{user}/{partition}", types: [stoppedType],
        writers: [.syncGateway], readers: [.permissions])

    public var key: String { EventKey.text(app, user, partition.text) }
    public var type: String { Self.stoppedType }
    public var eventID: String { "\(key)/\(version)/\(gateway)" }
    public var subject: String { "\(user)/\(partition.text)" }

    public func encoded() -> Document {
        [
            "app": .string(app), "user": .string(user), "partition": .string(partition.text),
            "version": .string(version.description), "gateway": .string(gateway), "time": .date(time),
        ]
    }

    public init(_ document: Document, attributes: EventAttributes) throws(EventTopicsError) {
        try attributes.require(type: Self.stoppedType, of: Self.topic.name)
        let reader = FieldReader(document)
        self.init(
            app: try reader.string("app"), user: try reader.string("user"),
            partition: try reader.partition("partition"), version: try reader.revision("version"),
            gateway: try reader.string("gateway"), time: try reader.date("time"))
    }
}

public import DocumentModel

/// The topic `document-changes`: every write to every document, in the order of revisions per partition.
///
/// Written only by the outbox relay of `DocumentStore`, which the gateways host. Read by gateways (for devices' downloads),
/// permissions (for the data that decisions depend on), trigger workers and media offload.
public enum DocumentChangesEvent: Sendable {
    /// The effect of one write on one document.
    case change(ChangeEvent)
    /// The same for a write whose documents exceed the size limit for messages. They are in the change row that the event names.
    case large(LargeChange)
    /// The newest revision of a partition; published periodically, so that a consumer notices that the last change is missing.
    case head(PartitionHead)

    /// The CloudEvents type of `change`.
    public static let changedType = "partita.document.changed.v1"
    public static let largeType = "partita.document.changed-large.v1"
    public static let headType = "partita.partition.head.v1"

    /// The message key of all events of a partition.
    public static func key(app: String, partition: Partition) -> String { EventKey.text(app, partition.text) }

    /// The app and partition of a message key; `nil` when it isn't a key of this topic.
    public static func parse(key: String) -> (app: String, partition: Partition)? {
        guard let parts = EventKey.parts(key, count: 2) else { return nil }
        return (String(parts[0]), Partition(text: String(parts[1])))
    }

    /// The partition of the event.
    public var partition: Partition {
        switch self {
        case .change(let event): event.partition
        case .large(let event): event.partition
        case .head(let head): head.partition
        }
    }

    /// The revision of the change, or the head's revision.
    public var revision: Revision {
        switch self {
        case .change(let event): event.revision
        case .large(let event): event.revision
        case .head(let head): head.head
        }
    }
}

/// A change whose documents are in its change row, the row of `changes` with this app, partition and revision.
public struct LargeChange: Sendable {
    @ExactText public var app: String
    public var namespace: ChangeEvent.Namespace
    public var operationType: ChangeEvent.OperationType
    /// The document's `_id`.
    public var documentKey: Value
    public var partition: Partition
    public var revision: Revision
    public var incarnation: Revision
    /// As in the complete event: a move between partitions.
    public var movedFrom: ChangeEvent.Move?
    public var origin: ChangeEvent.Origin?
    /// The size of the change row's documents in bytes.
    public var size: Int64
    /// The time of the write, in milliseconds since 1970.
    public var wallTime: Int64
    /// Whether the partition's next revision belongs to the same commit.
    public var continues: Bool

    /// The event that only names a change.
    /// - Parameter size: The size of its documents in bytes.
    public init(_ change: ChangeEvent, size: Int64) {
        self.init(
            app: change.app, namespace: change.namespace, operationType: change.operationType,
            documentKey: change.documentKey, partition: change.partition, revision: change.revision,
            incarnation: change.incarnation, movedFrom: change.movedFrom, origin: change.origin, size: size,
            wallTime: change.wallTime, continues: change.continues)
    }

    /// Creates an event that refers to a change row.
    public init(
        app: String, namespace: ChangeEvent.Namespace, operationType: ChangeEvent.OperationType, documentKey: Value,
        partition: Partition, revision: Revision, incarnation: Revision, movedFrom: ChangeEvent.Move? = nil,
        origin: ChangeEvent.Origin? = nil, size: Int64, wallTime: Int64, continues: Bool = false
    ) {
        self.app = app
        self.namespace = namespace
        self.operationType = operationType
        self.documentKey = documentKey
        self.partition = partition
        self.revision = revision
        self.incarnation = incarnation
        self.movedFrom = movedFrom
        self.origin = origin
        self.size = size
        self.wallTime = wallTime
        self.continues = continues
    }

    /// The event id, the same as that of the complete change event.
    public var id: String { "\(app)/\(partition.text)/\(revision)" }
}

/// The newest revision of a partition.
public struct PartitionHead: Hashable, Sendable {
    @ExactText public var app: String
    public var partition: Partition
    /// The revision of its newest change.
    public var head: Revision
    /// When it was read, in milliseconds since 1970.
    public var time: Int64

    /// Creates a head.
    public init(app: String, partition: Partition, head: Revision, time: Int64) {
        self.app = app
        self.partition = partition
        self.head = head
        self.time = time
    }
}

extension DocumentChangesEvent: EventPayload {
    public static let topic = Topic<DocumentChangesEvent>(
        "document-changes", "Every write to every document, and the heads of partitions.", partitions: 12,
        cleanup: .delete(after: .seconds(3 * 86_400)), key: "{app}/{partition}",
        types: [changedType, largeType, headType], writers: [.syncGateway, .auth, .tool],
        readers: [.syncGateway, .permissions, .triggerWorkers, .mediaOffload])

    public var app: String {
        switch self {
        case .change(let event): event.app
        case .large(let event): event.app
        case .head(let head): head.app
        }
    }

    public var key: String { Self.key(app: app, partition: partition) }

    /// The document that was changed; `nil` for a partition's head.
    public var document: (namespace: ChangeEvent.Namespace, key: Value)? {
        switch self {
        case .change(let change): (change.namespace, change.documentKey)
        case .large(let change): (change.namespace, change.documentKey)
        case .head: nil
        }
    }

    public var type: String {
        switch self {
        case .change: Self.changedType
        case .large: Self.largeType
        case .head: Self.headType
        }
    }

    public var eventID: String {
        switch self {
        case .change(let event): event.id
        case .large(let event): event.id
        case .head(let head): "\(head.app)/\(head.partition.text)/head-\(head.head)"
        }
    }

    public var subject: String {
        switch self {
        case .change(let event): event.namespace.subject(event.documentKey)
        case .large(let event): event.namespace.subject(event.documentKey)
        case .head(let head): head.partition.text
        }
    }

    public var time: Int64 {
        switch self {
        case .change(let event): event.wallTime
        case .large(let event): event.wallTime
        case .head(let head): head.time
        }
    }

    public func encoded() -> Document {
        switch self {
        case .change(let event): event.encoded()
        case .large(let event): event.encoded()
        case .head(let head):
            [
                "app": .string(head.app), "partition": .string(head.partition.text),
                "head": .string(head.head.description), "time": .date(head.time),
            ]
        }
    }

    public init(_ document: Document, attributes: EventAttributes) throws(EventTopicsError) {
        let reader = FieldReader(document)
        switch attributes.type {
        case Self.changedType: self = .change(try ChangeEvent(reader))
        case Self.largeType: self = .large(try LargeChange(reader))
        case Self.headType:
            self = .head(
                PartitionHead(
                    app: try reader.string("app"), partition: try reader.partition("partition"),
                    head: try reader.revision("head"), time: try reader.date("time")))
        default: throw EventTopicsError(.unknownType, "\(attributes.type) is not in \(Self.topic.name)")
        }
    }
}

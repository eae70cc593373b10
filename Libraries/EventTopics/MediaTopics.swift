import DocumentModel

/// The topic `media-jobs`: binaries to be moved out of documents, and bytes that no document refers to any more.
///
/// Written and read by media offload, so that its jobs survive the end of an instance.
public struct MediaJob: Sendable {
    /// The kind of job.
    public enum Kind: String, Sendable {
        /// Move the binary at `path` into the object store and leave a link.
        case offload
        /// Delete the object that the document referred to.
        case remove
    }

    @ExactText public var app: String
    public var kind: Kind
    public var namespace: ChangeEvent.Namespace
    /// The document's `_id`.
    public var documentKey: Value
    public var partition: Partition
    /// The revision of the change that caused the job.
    public var revision: Revision
    /// The path of the binary or link in the document.
    public var path: String
    /// The object's key in the store, for `remove`.
    public var object: String?
    /// The number of earlier attempts.
    public var attempts: Int32
    /// When the job was created, in milliseconds since 1970.
    public var time: Int64

    /// Creates a job.
    public init(
        app: String, kind: Kind, namespace: ChangeEvent.Namespace, documentKey: Value, partition: Partition,
        revision: Revision, path: String, object: String? = nil, attempts: Int32 = 0, time: Int64
    ) {
        self.app = app
        self.kind = kind
        self.namespace = namespace
        self.documentKey = documentKey
        self.partition = partition
        self.revision = revision
        self.path = path
        self.object = object
        self.attempts = attempts
        self.time = time
    }
}

extension MediaJob: EventPayload {
    static let jobType = "partita.media.job.v1"

    public static let topic = Topic<MediaJob>(
        "media-jobs", "Binaries to be moved out of documents, and objects to be removed.", partitions: 4,
        cleanup: .delete(after: .seconds(7 * 86_400)), key: "{app}/{db}.{collection}/{_id}", types: [jobType],
        writers: [.mediaOffload], readers: [.mediaOffload])

    public var key: String { EventKey.text(app, subject) }
    public var type: String { Self.jobType }
    public var eventID: String { "\(app)/\(partition.text)/\(revision)/\(path)/\(kind.rawValue)/\(attempts)" }
    public var subject: String { namespace.subject(documentKey) }

    public func encoded() -> Document {
        var document: Document = [
            "app": .string(app), "kind": .string(kind.rawValue), "ns": namespace.encoded,
            "documentKey": ["_id": documentKey], "partition": .string(partition.text),
            "revision": .string(revision.description), "path": .string(path),
        ]
        document.append("object", object.map(Value.string))
        document.append("attempts", .int32(attempts))
        document.append("time", .date(time))
        return document
    }

    public init(_ document: Document, attributes: EventAttributes) throws(EventTopicsError) {
        try attributes.require(type: Self.jobType, of: Self.topic.name)
        let reader = FieldReader(document)
        self.init(
            app: try reader.string("app"), kind: try reader.choice("kind", Kind.self),
            namespace: try reader.namespace(), documentKey: try reader.documentKey(),
            partition: try reader.partition("partition"), revision: try reader.revision("revision"),
            path: try reader.string("path"), object: try reader.optionalString("object"),
            attempts: Int32(clamping: try reader.integer("attempts")), time: try reader.date("time"))
    }
}

/// The topic `media-events`: the completed actions of media offload.
///
/// Written by media offload for external consumers (indexing, moderation). No service of Partita reads it.
public struct MediaEvent: Sendable {
    /// The kind of action.
    public enum Kind: String, CaseIterable, Sendable { case offloaded, removed }

    @ExactText public var app: String
    public var kind: Kind
    public var namespace: ChangeEvent.Namespace
    /// The document's `_id`.
    public var documentKey: Value
    public var partition: Partition
    /// The revision of the change that caused it.
    public var revision: Revision
    /// The path of the link in the document.
    public var path: String
    /// The object's key in the store.
    public var object: String
    /// Its size in bytes; 0 for `removed`.
    public var size: Int64
    /// Its media type; empty for `removed`.
    public var contentType: String
    /// When it was done, in milliseconds since 1970.
    public var time: Int64

    /// Creates an event.
    public init(
        app: String, kind: Kind, namespace: ChangeEvent.Namespace, documentKey: Value, partition: Partition,
        revision: Revision, path: String, object: String, size: Int64 = 0, contentType: String = "", time: Int64
    ) {
        self.app = app
        self.kind = kind
        self.namespace = namespace
        self.documentKey = documentKey
        self.partition = partition
        self.revision = revision
        self.path = path
        self.object = object
        self.size = size
        self.contentType = contentType
        self.time = time
    }
}

extension MediaEvent: EventPayload {
    public static let topic = Topic<MediaEvent>(
        "media-events", "What media offload has done.", partitions: 4, cleanup: .delete(after: .seconds(3 * 86_400)),
        key: "{app}/{db}.{collection}/{_id}", types: Kind.allCases.map { "partita.media.\($0.rawValue).v1" },
        writers: [.mediaOffload], readers: [])

    public var key: String { EventKey.text(app, subject) }
    public var type: String { "partita.media.\(kind.rawValue).v1" }
    public var eventID: String { "\(app)/\(partition.text)/\(revision)/\(path)/\(kind.rawValue)" }
    public var subject: String { namespace.subject(documentKey) }

    public func encoded() -> Document {
        [
            "app": .string(app), "kind": .string(kind.rawValue), "ns": namespace.encoded,
            "documentKey": ["_id": documentKey], "partition": .string(partition.text),
            "revision": .string(revision.description), "path": .string(path), "object": .string(object),
            "size": .int64(size), "contentType": .string(contentType), "time": .date(time),
        ]
    }

    public init(_ document: Document, attributes: EventAttributes) throws(EventTopicsError) {
        guard Self.topic.contract.types.contains(attributes.type) else {
            throw EventTopicsError(.unknownType, "\(attributes.type) is not in \(Self.topic.name)")
        }
        let reader = FieldReader(document)
        self.init(
            app: try reader.string("app"), kind: try reader.choice("kind", Kind.self),
            namespace: try reader.namespace(), documentKey: try reader.documentKey(),
            partition: try reader.partition("partition"), revision: try reader.revision("revision"),
            path: try reader.string("path"), object: try reader.string("object"), size: try reader.integer("size"),
            contentType: try reader.string("contentType"), time: try reader.date("time"))
    }
}

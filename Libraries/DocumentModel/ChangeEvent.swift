/// The change of one document by one write, in the form of a MongoDB change event with partition, revision and origin.
public struct ChangeEvent: Sendable {
    public enum OperationType: String, Sendable { case insert, update, replace, delete }

    public struct Namespace: Hashable, Sendable {
        @ExactText public var database: String
        @ExactText public var collection: String
        public init(database: String, collection: String) { self.database = database; self.collection = collection }

        /// Whether it can have documents: MongoDB's rules for names, with at most 120 bytes for a collection and 63 for a database.
        public var isValid: Bool {
            !collection.isEmpty && collection.utf8.count <= 120 && !collection.startsWithBytes(of: "system.")
                && !collection.utf8.contains(0) && !collection.utf8.contains(UInt8(ascii: "$"))
                && !database.isEmpty && database.utf8.count <= 63
                && database.utf8.allSatisfy { $0 > 32 && !#"/\."$*<>:|?"#.utf8.contains($0) }
        }
    }

    /// The device's changeset that the change belongs to; `nil` for changes by the server, except imports.
    public struct Origin: Hashable, Sendable {
        @ExactText public var user: String
        @ExactText public var device: String
        /// The number that the device gave the changeset in this partition.
        public var version: Int64
        public init(user: String, device: String, version: Int64) {
            self.user = user; self.device = device; self.version = version
        }

        /// The origin of imported documents, which are history: no triggers run for them. No user's id is empty.
        public static let dump = Origin(user: "", device: "import", version: 0)
    }

    /// The partition that the document left by this change, and the revision of its removal there.
    public struct Move: Hashable, Sendable {
        public var partition: Partition
        public var revision: Revision
        public init(partition: Partition, revision: Revision) { self.partition = partition; self.revision = revision }
    }

    public var app: String
    public var namespace: Namespace
    public var operationType: OperationType
    /// The document's `_id`.
    public var documentKey: Value
    public var partition: Partition
    public var revision: Revision
    /// The revision of the insert that created this document.
    public var incarnation: Revision
    public var fullDocument: Document?
    public var fullDocumentBeforeChange: Document?
    public var updateDescription: UpdateDescription?
    public var movedFrom: Move?
    public var origin: Origin?
    /// The runs of triggers that led to the change; `nil` if no trigger wrote it.
    public var causedBy: TriggerChain?
    public var clusterTime: Timestamp
    /// Milliseconds since 1970.
    public var wallTime: Int64
    /// Whether the partition's next revision belongs to the same commit: to a device's changeset, or another writer's transaction.
    public var continues: Bool

    /// The event's id, the same at every delivery: app, partition, revision.
    public var id: String { "\(app)/\(partition.text)/\(revision)" }

    /// The partition and revision of the change with an ``id``; `nil` for any other text. A partition may have slashes, the others have none.
    public static func place(id: String) -> (partition: Partition, revision: Revision)? {
        let parts = id.splitAtBytes("/")
        guard parts.count >= 3, let revision = Revision(parts[parts.count - 1]) else { return nil }
        return (Partition(text: parts[1..<(parts.count - 1)].joined(separator: "/")), revision)
    }

    public init(
        app: String, namespace: Namespace, operationType: OperationType, documentKey: Value, partition: Partition,
        revision: Revision, incarnation: Revision, fullDocument: Document? = nil,
        fullDocumentBeforeChange: Document? = nil,
        updateDescription: UpdateDescription? = nil, movedFrom: Move? = nil, origin: Origin? = nil,
        causedBy: TriggerChain? = nil, clusterTime: Timestamp, wallTime: Int64, continues: Bool = false
    ) {
        self.app = app
        self.namespace = namespace
        self.operationType = operationType
        self.documentKey = documentKey
        self.partition = partition
        self.revision = revision
        self.incarnation = incarnation
        self.fullDocument = fullDocument
        self.fullDocumentBeforeChange = fullDocumentBeforeChange
        self.updateDescription = updateDescription
        self.movedFrom = movedFrom
        self.origin = origin
        self.causedBy = causedBy
        self.clusterTime = clusterTime
        self.wallTime = wallTime
        self.continues = continues
    }
}

/// What an update changed, as a MongoDB change stream describes it.
public struct UpdateDescription: Sendable {
    /// The new values by dotted path.
    public var updatedFields: Document
    /// The dotted paths of the removed fields.
    public var removedFields: [String]
    /// The arrays that became shorter: `{field, newSize}`.
    public var truncatedArrays: [TruncatedArray]

    public struct TruncatedArray: Sendable {
        public var field: String
        public var newSize: Int
        public init(field: String, newSize: Int) { self.field = field; self.newSize = newSize }
    }

    public init(
        updatedFields: Document = Document(), removedFields: [String] = [], truncatedArrays: [TruncatedArray] = []
    ) {
        self.updatedFields = updatedFields
        self.removedFields = removedFields
        self.truncatedArrays = truncatedArrays
    }

    public var isEmpty: Bool { updatedFields.fields.isEmpty && removedFields.isEmpty && truncatedArrays.isEmpty }
}

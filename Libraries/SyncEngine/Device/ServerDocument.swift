import DocumentModel

/// A document as a device received it from the server.
public struct ServerDocument: Sendable {
    /// The fields, `_id` included.
    public var document: Document
    /// The revision of the insert that created it.
    public var incarnation: Revision
    /// The revision of its last change that the device has received.
    public var revision: Revision

    public init(document: Document, incarnation: Revision, revision: Revision) {
        self.document = document
        self.incarnation = incarnation
        self.revision = revision
    }
}

/// A change of one document of a partition that a device receives: its new content, or its removal.
public struct DocumentChange: Sendable {
    /// Which changeset a live change came with.
    public struct Origin: Hashable, Sendable {
        @ExactText public var device: String
        public var version: Int64

        public init(device: String, version: Int64) {
            self.device = device
            self.version = version
        }
    }

    /// The collection's name.
    public var collection: String
    /// The document's `_id`.
    public var id: Value
    /// The revision of the change.
    public var revision: Revision
    /// The revision of the insert that created the document.
    public var incarnation: Revision
    /// The whole document; `nil` when it was deleted or left the partition.
    public var document: Document?
    /// The changeset that made a live change; `nil` when no device made it, and in a catch-up.
    public var origin: Origin?

    public init(
        collection: String, id: Value, revision: Revision, incarnation: Revision, document: Document?,
        origin: Origin? = nil
    ) {
        self.collection = collection
        self.id = id
        self.revision = revision
        self.incarnation = incarnation
        self.document = document
        self.origin = origin
    }

    /// Identifies the document; `nil` when the `_id` is of a type that can't be a key.
    public var key: DocumentKey? { DocumentKey(collection: collection, id: id) }
}

/// Changes of a partition that a device receives together.
public struct Download: Sendable {
    /// What a chunk of a catch-up contains besides its changes.
    public struct CatchUp: Sendable {
        /// Whether what was received so far becomes visible with this chunk.
        public var isFinal: Bool
        /// The device's last version that the server had committed when it read the chunk.
        public var lastVersion: Int64
        /// How far the catch-up has come.
        public var progress: CatchUpProgress
        /// What the device sends back to continue after this chunk, should the catch-up be cut: a `ResumeToken`, which the device
        /// doesn't interpret. `nil` in the final chunk.
        public var resume: String?

        public init(isFinal: Bool, lastVersion: Int64, progress: CatchUpProgress, resume: String? = nil) {
            self.isFinal = isFinal
            self.lastVersion = lastVersion
            self.progress = progress
            self.resume = resume
        }
    }

    /// The revision that the changes follow. A catch-up from number 0 replaces all that the device has of the partition.
    public var from: Revision
    /// The device's checkpoint after them, unless they are a chunk of a catch-up that isn't final.
    public var to: Revision
    /// The changes, in the order of their revisions.
    public var changes: [DocumentChange]
    /// Set for a chunk of a catch-up; `nil` for live changes.
    public var catchUp: CatchUp?

    public init(from: Revision, to: Revision, changes: [DocumentChange], catchUp: CatchUp? = nil) {
        self.from = from
        self.to = to
        self.changes = changes
        self.catchUp = catchUp
    }
}

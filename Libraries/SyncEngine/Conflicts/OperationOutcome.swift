import DocumentModel

/// The result of the conflict rules for an operation.
public enum OperationOutcome: Sendable {
    /// The operation is accepted, with what it changed, if anything, and which of its writes lost to a later one.
    case applied(AppliedOperation)
    /// The document that the operation refers to was deleted. The ack reports the operation as lost.
    case droppedDeleted
    /// The operation can't be applied; its changeset is rejected as a whole.
    case rejected(OperationRejection)
}

/// The effect of an accepted operation.
public struct AppliedOperation: Sendable {
    /// What has to be stored.
    public enum Change: String, Sendable {
        case inserted, updated, deleted
        /// Nothing: every write lost, or the document already has the values, written later. No revision is used.
        case none
    }

    /// What has to be stored.
    public var change: Change
    /// The document after the operation; `nil` after a delete.
    public var document: StoredDocument?
    /// What an update changed; empty otherwise, and for an update that only wrote present values again.
    public var updateDescription: UpdateDescription
    /// The dotted paths of the update whose writes lost.
    public var lost: [String]

    public init(
        change: Change, document: StoredDocument?, updateDescription: UpdateDescription = UpdateDescription(),
        lost: [String] = []
    ) {
        self.change = change
        self.document = document
        self.updateDescription = updateDescription
        self.lost = lost
    }
}

/// Why an operation, and with it its changeset, was rejected.
public struct OperationRejection: Error, Hashable, Sendable {
    /// A stable code for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's text on the wire and in the device's store.
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// The user may not write the partition.
        public static let notPermitted = Code(rawValue: "notPermitted")
        /// The document doesn't match the collection's schema.
        public static let schemaViolation = Code(rawValue: "schemaViolation")
        /// The update operators are malformed or don't fit the document, for example `$inc` of a string.
        public static let badUpdate = Code(rawValue: "badUpdate")
        /// The `_id` is missing, of a type that can't be a key, or not the document's own.
        public static let badId = Code(rawValue: "badId")
        /// The collection isn't one that the app syncs.
        public static let unknownCollection = Code(rawValue: "unknownCollection")
        /// The document's partition value is not the changeset's partition, or a document in another partition has the
        /// `_id`.
        public static let wrongPartition = Code(rawValue: "wrongPartition")
        /// The document would exceed the size limit.
        public static let documentTooLarge = Code(rawValue: "documentTooLarge")
        /// A unique index already contains the value.
        public static let duplicateKey = Code(rawValue: "duplicateKey")
        /// The database can't hold the document.
        public static let notStorable = Code(rawValue: "notStorable")
        /// The server stored a changeset under this version so long ago that it can't determine whether it is this one.
        public static let outcomeUnknown = Code(rawValue: "outcomeUnknown")
        /// The device gave up: `DevicePartition.lossLimit` connections ended between the upload and its answer.
        public static let undeliverable = Code(rawValue: "undeliverable")
    }

    /// A stable code for programs.
    public var code: Code
    /// A sentence for people.
    public var reason: String
    /// The dotted path of the error, if there is one.
    public var path: String?
    /// The rule that forbids the operation, if there is one.
    public var rule: String?

    public init(code: Code, reason: String, path: String? = nil, rule: String? = nil) {
        self.code = code
        self.reason = reason
        self.path = path
        self.rule = rule
    }
}

extension OperationRejection {
    /// The rejection of an operation whose `_id` is missing or of a type that an `_id` can't have.
    public static let noId = OperationRejection(
        code: .badId, reason: "an _id can't be missing, an array, a regular expression or undefined", path: "_id")

    /// The rejection of an operation whose `_id` is valid in MongoDB but can't be stored in an index of Postgres.
    public static let largeId = OperationRejection(
        code: .badId, reason: "an _id has at most 1,024 bytes, and no NUL as a string", path: "_id")
}

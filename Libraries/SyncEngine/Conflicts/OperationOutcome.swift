import DocumentModel

/// What the conflict rules made of an operation.
public enum OperationOutcome: Sendable {
    /// The operation counts; what it changed, if anything, and which of its writes lost to a later one.
    case applied(AppliedOperation)
    /// The document that the operation meant was deleted. The ack names the operation.
    case droppedDeleted
    /// The operation can't be applied; its changeset is rejected as a whole.
    case rejected(OperationRejection)
}

/// The effect of an operation that counts.
public struct AppliedOperation: Sendable {
    /// What has to be stored.
    public enum Change: String, Sendable {
        case inserted, updated, deleted
        /// Nothing: every write lost, or the document already was as the operation wants it. Takes no revision.
        case none
    }

    /// What has to be stored.
    public var change: Change
    /// The document after the operation; `nil` after a delete.
    public var document: StoredDocument?
    /// What an update changed; empty otherwise.
    public var updateDescription: UpdateDescription
    /// Dotted paths whose `$set` or `$unset` lost.
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

/// Why an operation, and with it its changeset, was refused.
public struct OperationRejection: Error, Hashable, Sendable {
    /// A stable word for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The word on the wire and in the device's store.
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
        /// The document's partition value is not the changeset's partition, or the `_id` is held elsewhere.
        public static let wrongPartition = Code(rawValue: "wrongPartition")
        /// The document would grow beyond the limit.
        public static let documentTooLarge = Code(rawValue: "documentTooLarge")
        /// A unique index has the value already.
        public static let duplicateKey = Code(rawValue: "duplicateKey")
        /// The database can't hold the document.
        public static let notStorable = Code(rawValue: "notStorable")
        /// The server has a changeset under this version for so long that it can't tell whether it is this one.
        public static let outcomeUnknown = Code(rawValue: "outcomeUnknown")
        /// The device has given it up: each connection that carried it ended before it was answered.
        public static let undeliverable = Code(rawValue: "undeliverable")
    }

    /// A stable word for programs.
    public var code: Code
    /// A sentence for people.
    public var reason: String
    /// The dotted path that it is about, where there is one.
    public var path: String?
    /// The rule that forbids it, where one does.
    public var rule: String?

    public init(code: Code, reason: String, path: String? = nil, rule: String? = nil) {
        self.code = code
        self.reason = reason
        self.path = path
        self.rule = rule
    }
}

extension OperationRejection {
    /// Of an operation whose `_id` is missing or can't be one.
    public static let noId = OperationRejection(
        code: .badId, reason: "an _id can't be missing, an array, a regular expression or undefined", path: "_id")

    /// Of an operation whose `_id` is one in MongoDB, and too large for an index of Postgres.
    public static let largeId = OperationRejection(
        code: .badId, reason: "an _id has at most 1,024 bytes, and no NUL as a string", path: "_id")
}

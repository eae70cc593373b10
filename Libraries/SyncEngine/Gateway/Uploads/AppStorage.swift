public import DocumentModel

/// What the store has to know about an app: how its documents are assigned to partitions, and how they are validated.
public struct AppStorage: Sendable {
    /// Why a document violates its collection's schema.
    public struct SchemaViolation: Error, Sendable {
        /// A sentence for people.
        public var reason: String
        /// The dotted path that violates the schema, if there is one.
        public var path: String?

        public init(reason: String, path: String? = nil) {
            self.reason = reason
            self.path = path
        }
    }

    /// Checks a document as it would be stored; returns `nil` when it is valid.
    public typealias Validator = @Sendable (ChangeEvent.Namespace, Document) -> SchemaViolation?

    /// The app's id.
    public var app: String
    /// The database that devices' operations refer to.
    public var syncDatabase: String
    /// The field whose value is a synced document's partition; `nil` when the app doesn't sync.
    public let partitionKey: String?
    /// Whether the synced documents that have no value for the key, or null, are a partition, which devices can open.
    let hasNullPartition: Bool
    /// The collections of the sync database that are synced; devices don't see any others.
    let syncedCollections: Set<ExactText>
    /// Validates every document that is written.
    public var validate: Validator

    public init(
        app: String, syncDatabase: String, partitionKey: String?, hasNullPartition: Bool = false,
        syncedCollections: [String] = [],
        validate: @escaping Validator = { _, _ in nil }
    ) {
        self.app = app
        self.syncDatabase = syncDatabase
        self.partitionKey = partitionKey
        self.hasNullPartition = hasNullPartition
        self.syncedCollections = Set(syncedCollections.map { ExactText($0) })
        self.validate = validate
    }

    /// Whether a collection is synced.
    public func syncs(_ namespace: ChangeEvent.Namespace) -> Bool { partitionKey(of: namespace) != nil }

    /// The collection that a name in a device's operation refers to; `nil` when it isn't synced.
    func synced(_ collection: String) -> ChangeEvent.Namespace? {
        let namespace = ChangeEvent.Namespace(database: syncDatabase, collection: collection)
        return syncs(namespace) ? namespace : nil
    }

    /// The field whose value is the partition of a collection's documents; `nil` when the collection isn't synced.
    public func partitionKey(of namespace: ChangeEvent.Namespace) -> String? {
        guard namespace.database.hasSameBytes(as: syncDatabase),
            syncedCollections.contains(ExactText(namespace.collection))
        else { return nil }
        return partitionKey
    }

    /// Whether a collection's documents without a partition value are in the null partition.
    public func hasNullPartition(of namespace: ChangeEvent.Namespace) -> Bool { hasNullPartition && syncs(namespace) }

    /// Whether documents are in the same partitions as under another definition.
    public func hasSamePartitions(as other: AppStorage) -> Bool {
        partitionKey.map { ExactText($0) } == other.partitionKey.map { ExactText($0) }
            && hasNullPartition == other.hasNullPartition
            && syncDatabase.hasSameBytes(as: other.syncDatabase) && syncedCollections == other.syncedCollections
    }

    /// The partition that a document is in: that of its partition value, else an internal one of its collection.
    /// `partita.partition_of` computes the same.
    public func partition(of document: Document, in namespace: ChangeEvent.Namespace, id: String) -> Partition {
        guard let partitionKey = partitionKey(of: namespace) else { return .internal(namespace, id: id) }
        let value = document[partitionKey] ?? .null
        if hasNullPartition, value == .null { return .null }
        return value.storableKey.map { Partition(text: $0) } ?? .internal(namespace, id: id)
    }
}

extension Value {
    /// The key text if Postgres can hold it in an index.
    public var storableKey: String? { Self.storable(keyText) }

    /// The text as an `_id` if Postgres can hold it in an index.
    public var storableId: String? { Self.storable(idText) }

    private static func storable(_ text: String?) -> String? {
        guard let text, text.utf8.count <= 1026, !text.utf8.contains(0) else { return nil }
        return text
    }
}

extension Partition {
    /// How many internal partitions a collection has.
    static let internalBuckets: UInt32 = 16

    /// The internal partition of a document that has no partition value; `partita.internal_partition` computes the same.
    public static func `internal`(_ namespace: ChangeEvent.Namespace, id: String) -> Partition {
        let bucket = Fingerprint32(id).value % internalBuckets
        return Partition(text: "i:\(namespace.database).\(namespace.collection):\(bucket)")
    }
}

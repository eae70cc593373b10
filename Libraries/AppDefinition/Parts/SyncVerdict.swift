import DocumentModel

/// Whether a collection syncs to devices, and if not, why.
public enum SyncVerdict: Hashable, Sendable {
    /// Devices read and write it, by the partition's permissions.
    case synced
    /// The app doesn't sync, or its sync is paused.
    case syncIsOff
    /// It isn't in the database that devices sync.
    case otherDatabase
    /// It has no schema.
    case noSchema
    /// Its schema lacks the partition key among its properties.
    case noPartitionKey(String)
    /// The property has another type than the partition key, such as a document with an agency in an app that syncs by `agency`.
    case otherKeyType(String)
}

extension SyncVerdict: CustomStringConvertible {
    /// `synced`, or `not synced: ` with the reason.
    public var description: String {
        switch self {
        case .synced: "synced"
        case .syncIsOff: "not synced: the app's sync is off"
        case .otherDatabase: "not synced: it is not in the synced database"
        case .noSchema: "not synced: it has no schema"
        case .noPartitionKey(let key): "not synced: its schema has no property '\(key)', the partition key"
        case .otherKeyType(let key): "not synced: its '\(key)' has another type than the partition key"
        }
    }
}

extension AppDefinition {
    /// Whether a collection syncs to devices. Those of the synced database whose schema has the partition key, with its
    /// type, as a property do; all others are server-only, whatever their rules say.
    public func syncVerdict(of collection: CollectionDefinition) -> SyncVerdict {
        guard let sync, sync.isEnabled else { return .syncIsOff }
        guard collection.database.hasSameBytes(as: sync.database), isSameStore(collection.service, sync.service) else {
            return .otherDatabase
        }
        guard let schema = collection.schema else { return .noSchema }
        let hasKey = schema.fieldNames.contains { $0.hasSameBytes(as: sync.partitionKey) }
        guard hasKey else { return .noPartitionKey(sync.partitionKey) }
        let types = schema.types(at: [sync.partitionKey])
        guard types.map(sync.partitionType.isAmong) ?? true else { return .otherKeyType(sync.partitionKey) }
        return .synced
    }
}

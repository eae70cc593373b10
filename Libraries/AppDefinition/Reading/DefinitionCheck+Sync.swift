import DocumentModel
import DocumentSchema

/// What is synced, and for whom.
extension DefinitionCheck {
    func checkSync(_ definition: AppDefinition) {
        guard let sync = definition.sync else { return }
        let file = definition.files["sync/config.json"] != nil ? "sync/config.json" : "config.json"
        for rule in [sync.read, sync.write] {
            check(rule, definition, file: file, without: RuleExpansion.Root.ofDocuments.union([.args, .request]))
        }
        // A field of that name may mean something else in one collection, but hardly in all of them.
        let doesSync = definition.collections.contains { definition.syncVerdict(of: $0) == .synced }
        for collection in definition.collections
        where definition.syncVerdict(of: collection) == .otherKeyType(sync.partitionKey) {
            let types = collection.schema?.types(at: [sync.partitionKey]) ?? []
            let names = types.map(\.rawValue).sorted().joined(separator: ", ")
            let key = JSONPointer.escape(sync.partitionKey)
            log.add(
                .partitionKeyTypeMismatch, severity: doesSync ? .warning : .error,
                file: collection.isFolder ? "\(collection.place)/schema.json" : collection.place,
                pointer: (collection.isFolder ? "" : "/schema") + "/properties/\(key)",
                "\(sync.partitionKey) is \(names), but the partition key is \(sync.partitionType): the collection isn't synced; give both the same type if it is to sync"
            )
        }
        if !doesSync { checkNames(of: sync, definition, file: file) }
    }

    /// Schemas that all lack the partition key, or are in other databases. Without any schema, clients may make them in development mode.
    private func checkNames(of sync: SyncConfiguration, _ definition: AppDefinition, file: String) {
        let described = definition.collections.filter { $0.schema?.fieldNames.isEmpty == false }
        guard sync.isEnabled, !described.isEmpty else { return }
        let verdicts = described.map { definition.syncVerdict(of: $0) }
        if verdicts.allSatisfy({ $0 == .otherDatabase }) {
            let names = Set(texts: described.map(\.database)).sortedTexts.joined(separator: ", ")
            log.add(
                .syncsNothing, severity: .warning, file: file,
                "nothing is synced: no collection of \(sync.database) has a schema; there are schemas in \(names): correct the database, or the data source"
            )
        } else if verdicts.contains(.noPartitionKey(sync.partitionKey)) {
            log.add(
                .syncsNothing, severity: .warning, file: file,
                "nothing is synced: no schema in \(sync.database) has the partition key \(sync.partitionKey): correct the name, or add the field to the schemas"
            )
        }
    }

    /// What apps with a Realm SDK can't have of the synced collections.
    func checkClasses(_ definition: AppDefinition) {
        for part in definition.syncedClasses.unfit {
            guard
                let collection = definition.collections.first(where: {
                    $0.name.hasSameBytes(as: part.collection) && definition.syncVerdict(of: $0) == .synced
                })
            else { continue }
            log.add(
                .realmClassUnfit, severity: .warning,
                file: collection.isFolder ? "\(collection.place)/schema.json" : collection.place,
                pointer: (collection.isFolder ? "" : "/schema") + part.pointer,
                "clients with a Realm SDK don't get \(part.path.isEmpty ? "the collection \(part.collection)" : "\(part.collection).\(part.path)"): \(part.message)"
            )
        }
    }
}

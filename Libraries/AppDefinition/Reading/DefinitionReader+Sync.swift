import DocumentModel

extension DefinitionReader {
    /// The places of a sync configuration: `sync/config.json`, `sync` of the older root file, `config.sync` of a data source. Older
    /// exports have a line about development mode at the root, and the configuration itself in the service.
    func sync(_ root: ConfigNode?, _ definition: AppDefinition) -> SyncConfiguration? {
        var places: [(node: ConfigNode, service: String?)] = []
        for node in [json("sync/config.json"), root?.child("sync")].compactMap(\.self) {
            places.append((node, node.string("service_name")))
        }
        for folder in ["data_sources", "services"] {
            for name in files.folders(in: folder) {
                guard let file = json("\(folder)/\(name)/config.json"), let node = file.child(path: "config", "sync")
                else { continue }
                places.append((node, file.string("name") ?? name))
            }
        }
        let live = places.filter { !isBlank($0.node) }
        guard let first = live.first else {
            if files.choices.syncBy != nil {
                log.add(.syncByInvalid, file: "", "--sync-by is for apps with flexible sync, and this one doesn't sync")
            }
            return nil
        }
        for other in live.dropFirst() {
            other.node.problem(
                .partShadowed, severity: .warning,
                "this sync configuration isn't used: \(first.node.file) has one; remove one of them")
        }
        let stores = definition.dataSources.filter(\.isDocumentStore)
        if let name = first.service, !stores.isEmpty, !stores.contains(where: { $0.name.hasSameBytes(as: name) }) {
            first.node.problem(
                .serviceUnknown, severity: .warning, at: first.node.child("service_name") == nil ? nil : "service_name",
                "no data source is named \(name): name one of \(stores.map(\.name).joined(separator: ", "))")
        }
        let service = first.service ?? (stores.count == 1 ? stores[0].name : "mongodb-atlas")
        return sync(first.node, service: service, definition)
    }

    /// Whether sync was never enabled: the vendor's interface then writes an empty state and an empty key, or only other settings.
    private func isBlank(_ node: ConfigNode) -> Bool {
        let state = node.string("state")
        guard node.string("type") != "flexible" else { return (state ?? "").isEmpty }
        guard let key = node.child("partition")?.string("key") else {
            return state == nil ? node.child("partition") == nil : state == "" || state == "disabled"
        }
        if key.isEmpty, state == "enabled" {
            node.problem(
                .fieldValue, severity: .warning, at: "partition",
                "the partition key is empty, so nothing syncs: name the field that has each document's partition")
        }
        return key.isEmpty
    }

    private func sync(_ node: ConfigNode, service: String, _ definition: AppDefinition) -> SyncConfiguration? {
        if node.string("type") == "flexible" { return flexibleSync(node, service: service, definition) }
        if files.choices.syncBy != nil {
            node.problem(
                .syncByInvalid,
                "--sync-by is for apps with flexible sync, and this one has partition-based sync: leave it out")
        }
        guard let partition = node.child("partition"), let key = partition.string("key"), !key.isEmpty else {
            node.problem(
                .partitionKeyMissing, at: node.child("partition") == nil ? nil : "partition",
                "the partition key is missing: name the field that has each document's partition in partition.key")
            return nil
        }
        guard let database = syncDatabase(node, service: service, key: key, definition) else { return nil }
        let permissions = partition.child("permissions")
        for kind in ["read", "write"] where permissions?.child(kind) == nil {
            (permissions ?? partition).problem(
                .fieldMissing, severity: .warning,
                "permissions.\(kind) is missing: no user may \(kind) any partition; add it")
        }
        return SyncConfiguration(
            isEnabled: isEnabled(node), service: service, database: database,
            partitionKey: key, partitionType: partitionType(partition), hasNullPartition: hasNullPartition(partition),
            read: permissions?.rule("read") ?? .never, write: permissions?.rule("write") ?? .never,
            isRecoveryDisabled: node.bool("is_recovery_mode_disabled"), maximumOfflineDays: maximumOfflineDays(node),
            isInDevelopment: isInDevelopment(node))
    }

    /// `development_mode_enabled`, of which it warns.
    func isInDevelopment(_ node: ConfigNode) -> Bool {
        guard node.bool("development_mode_enabled") else { return false }
        node.problem(
            .developmentMode, severity: .warning, at: "development_mode_enabled",
            "the app is in development mode: every user who may write a partition can add classes and properties to its schemas, with a Realm SDK; `partita app export` has them then; turn it off before the app is in use"
        )
        return true
    }

    /// `client_max_offline_days`; `nil` if it isn't there or 0.
    func maximumOfflineDays(_ node: ConfigNode) -> Int? {
        let days = node.integer("client_max_offline_days", default: 0, in: 0...3650)
        return days == 0 ? nil : days
    }

    /// `database_name`, or without it the database whose schemas have the partition key. Logs a problem when there is none.
    func syncDatabase(
        _ node: ConfigNode, service: String, key: String?, _ definition: AppDefinition
    ) -> String? {
        if let name = node.string("database_name"), !name.isEmpty { return name }
        let own = definition.collections.filter { definition.isSameStore($0.service, service) }
        let keyed = own.filter { collection in
            key.map { collection.schema?.fieldNames.containsExactly($0) == true } ?? (collection.schema != nil)
        }
        let databases = Set(texts: (keyed.isEmpty ? own : keyed).map(\.database)).sortedTexts
        let what = key.map { "schemas with \($0)" } ?? "schemas"
        guard databases.count == 1 else {
            node.problem(
                .fieldMissing,
                databases.isEmpty
                    ? "database_name is missing: write the database that devices sync"
                    : "database_name is missing, and several databases have \(what) (\(databases.joined(separator: ", "))): write the one that devices sync"
            )
            return nil
        }
        node.problem(
            .fieldMissing, severity: .warning,
            "database_name is missing: \(databases[0]) is synced, the only database that has \(keyed.isEmpty ? "collections" : what)"
        )
        return databases[0]
    }

    private func isEnabled(_ node: ConfigNode) -> Bool {
        switch node.string("state") {
        case nil, "enabled"?: return true
        case "disabled"?, ""?: return false
        case let state?:
            node.problem(.fieldValue, at: "state", "the state must be enabled or disabled, not '\(state)'")
            return false
        }
    }

    private func hasNullPartition(_ node: ConfigNode) -> Bool {
        switch node.child("required")?.value {
        case nil: return false
        case .bool(let isRequired)?: return !isRequired
        default:
            node.problem(.fieldValue, at: "required", "required must be true or false")
            return false
        }
    }

    private func partitionType(_ node: ConfigNode) -> SyncConfiguration.PartitionType {
        guard let name = node.string("type"), !name.isEmpty else { return .string }
        if let type = SyncConfiguration.PartitionType(rawValue: name) { return type }
        node.problem(.fieldValue, at: "type", "the type of a partition key must be string, objectId, long or uuid")
        return .string
    }
}

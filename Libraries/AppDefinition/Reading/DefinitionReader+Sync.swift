import DocumentModel

extension DefinitionReader {
    /// `sync/config.json`, the `sync` field of the older root, or `config.sync` of a data source.
    func sync(_ root: ConfigNode, _ layout: Layout) -> SyncConfiguration? {
        if let node = json("sync/config.json") ?? root.child("sync") {
            return sync(node, service: node.string("service_name") ?? "mongodb-atlas")
        }
        for folder in ["data_sources", "services"] {
            for name in files.folders(in: folder) {
                if let node = json("\(folder)/\(name)/config.json")?.child(path: "config", "sync") {
                    return sync(node, service: name)
                }
            }
        }
        return nil
    }

    private func sync(_ node: ConfigNode, service: String) -> SyncConfiguration? {
        guard !(node.child("state") == nil && node.child("partition") == nil) else { return nil }
        if node.string("type") == "flexible" {
            node.problem(
                .syncTypeUnsupported, at: "type",
                "flexible sync isn't supported: use partition-based sync, with a partition key")
            return nil
        }
        guard let partition = node.child("partition"), let key = partition.string("key"), !key.isEmpty else {
            node.problem(
                .partitionKeyMissing, at: node.child("partition") == nil ? nil : "partition",
                "the partition key is missing")
            return nil
        }
        guard let database = node.required("database_name") else { return nil }
        let permissions = partition.child("permissions")
        for kind in ["read", "write"] where permissions?.child(kind) == nil {
            (permissions ?? partition).problem(
                .fieldMissing, severity: .warning, "permissions.\(kind) is missing: no user may \(kind) any partition")
        }
        return SyncConfiguration(
            isEnabled: isEnabled(node), service: service, database: database,
            partitionKey: key, partitionType: partitionType(partition), isPartitionRequired: partition.bool("required"),
            read: permissions?.rule("read") ?? .never, write: permissions?.rule("write") ?? .never,
            isDevelopmentMode: node.bool("development_mode_enabled"))
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

    private func partitionType(_ node: ConfigNode) -> SyncConfiguration.PartitionType {
        guard let name = node.string("type") else { return .string }
        if let type = SyncConfiguration.PartitionType(rawValue: name) { return type }
        node.problem(.fieldValue, at: "type", "the type of a partition key must be string, objectId, long or uuid")
        return .string
    }
}

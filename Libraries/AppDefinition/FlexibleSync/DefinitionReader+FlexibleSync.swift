import DocumentModel

extension DefinitionReader {
    /// Flexible sync isn't served. The rest of such an app is, and its permissions often are those of partitions: then the field can be
    /// taken as the partition key by `--sync-by`.
    ///
    /// - Returns: `nil` unless the operator has chosen a field, and the permissions can be kept with it.
    func flexibleSync(_ node: ConfigNode, service: String, _ definition: AppDefinition) -> SyncConfiguration? {
        let roles = definition.collections.filter { collection in
            guard definition.isSameStore(collection.service, service), collection.schema != nil else { return false }
            let database = node.string("database_name") ?? ""
            return database.isEmpty || collection.database.hasSameBytes(as: database)
        }.map { ($0, FlexibleRole.roles(of: $0, in: node.value, definition)) }
        reportAsymmetric(node)
        guard let key = files.choices.syncBy?.text else {
            propose(node, roles)
            return nil
        }
        guard let proposal = PartitionProposal(key: key, roles: roles) else {
            node.problem(
                .syncByInvalid, at: "type",
                "--sync-by \(key) can't keep the permissions: "
                    + (refusal(of: key, roles)
                        ?? "every role may depend only on \(key) and on the user; deploy without it, and write a partition-based configuration")
            )
            return nil
        }
        guard let database = syncDatabase(node, service: service, key: key, definition) else { return nil }
        do throws(RuleSyntaxError) {
            let configuration = SyncConfiguration(
                isEnabled: true, service: service, database: database, partitionKey: key, partitionType: proposal.type,
                hasNullPartition: false, read: try RuleExpression(proposal.read),
                write: try RuleExpression(proposal.write), isRecoveryDisabled: node.bool("is_recovery_mode_disabled"),
                maximumOfflineDays: maximumOfflineDays(node), isInDevelopment: isInDevelopment(node))
            node.problem(
                .syncTranslated, severity: .warning, at: "type",
                "sync is partition-based by \(key) instead of flexible: \(text(proposal)); devices open one \(key) at a time"
            )
            return configuration
        } catch {
            node.problem(.syncByInvalid, at: "type", "--sync-by \(key): the permissions can't be read: \(error)")
            return nil
        }
    }

    private func propose(_ node: ConfigNode, _ roles: [(CollectionDefinition, [FlexibleRole])]) {
        let instead = "flexible sync isn't served, and everything else of the app is"
        var queryable = node.value["queryable_fields_names"]?.arrayValue?.compactMap(\.stringValue) ?? []
        for field in node.value["collection_queryable_fields_names"]?.documentValue?.fields ?? [] {
            queryable += field.value.arrayValue?.compactMap(\.stringValue) ?? []
        }
        if let proposal = PartitionProposal.best(roles, queryable: queryable) {
            node.problem(
                .syncTypeUnsupported, severity: .warning, at: "type",
                "\(instead). The permissions are those of partitions by \(proposal.key): \(text(proposal)). To sync so, deploy with --sync-by \(proposal.key)"
            )
        } else {
            let mayAll = !roles.isEmpty && roles.allSatisfy { !$0.1.isEmpty && isForAll($0.1) }
            node.problem(
                .syncTypeUnsupported, severity: .warning, at: "type",
                mayAll
                    ? "\(instead). All users may read the same documents: add a field such as _partition, with one value in all documents, to the schemas, and deploy with --sync-by _partition"
                    : "\(instead). The permissions aren't those of one field: write a partition-based configuration (ComingFromAtlas, \"Flexible sync\")"
            )
        }
    }

    private func isForAll(_ roles: [FlexibleRole]) -> Bool {
        roles.contains { FlexibleRole.isAlways($0.appliesWhen) && FlexibleRole.isAlways($0.read) }
    }

    private func text(_ proposal: PartitionProposal) -> String {
        let others = proposal.others.isEmpty ? "" : "; not synced: \(proposal.others.joined(separator: ", "))"
        return
            "read \(proposal.read), write \(proposal.write); collections: \(proposal.collections.joined(separator: ", "))\(others)"
    }

    /// Why a field can't be the key, if the schemas show it.
    private func refusal(of key: String, _ roles: [(CollectionDefinition, [FlexibleRole])]) -> String? {
        let having = roles.filter { $0.0.schema?.fieldNames.containsExactly(key) == true }
        if having.isEmpty { return "no schema of the synced database has the field \(key)" }
        let single = having.filter { PartitionProposal(key: key, roles: [($0.0, [])]) != nil }
        if single.isEmpty { return "\(key) isn't a string, ObjectId, whole number or UUID in the schemas" }
        let wrong = having.filter { PartitionProposal(key: key, roles: [($0.0, $0.1)]) == nil }.map(\.0.name)
        return wrong.isEmpty
            ? "the type of \(key) differs between the schemas"
            : "the roles of \(wrong.joined(separator: ", ")) depend on other fields of a document"
    }

    private func reportAsymmetric(_ node: ConfigNode) {
        guard let tables = node.value["asymmetric_tables"]?.arrayValue?.compactMap(\.stringValue), !tables.isEmpty
        else {
            return
        }
        node.problem(
            .featureNotServed, severity: .warning, at: "asymmetric_tables",
            "data ingest (\(tables.joined(separator: ", "))) isn't served: devices call a function that inserts the documents"
        )
    }
}

import DocumentModel
import DocumentSchema

extension DefinitionReader {
    /// `data_sources/<name>/config.json` (newer layout) and `services/<name>/config.json` (older; for other vendors' services in
    /// both layouts). A converted folder has some in both places; the newer one is used.
    func dataSources(_ layout: Layout) -> [DataSource] {
        var sources: [DataSource] = []
        for folder in layout == .v20210101 ? ["data_sources", "services"] : ["services"] {
            for name in files.folders(in: folder) where !sources.contains(where: { $0.name.hasSameBytes(as: name) }) {
                guard let node = json("\(folder)/\(name)/config.json"), let type = node.required("type") else {
                    continue
                }
                sources.append(
                    DataSource(
                        name: node.string("name") ?? name, type: type, config: node.document("config"),
                        secretConfig: node.document("secret_config"),
                        defaultRules: json("\(folder)/\(name)/default_rule.json").map(rules)))
            }
        }
        return sources
    }

    /// One folder per collection in the newer layout, one file with schema and rules in the older.
    func collections(_ layout: Layout) -> [CollectionDefinition] {
        switch layout {
        case .v20210101:
            files.folders(in: "data_sources").flatMap { service in
                files.folders(in: "data_sources/\(service)").flatMap { database in
                    files.folders(in: "data_sources/\(service)/\(database)").map { name in
                        collection(service: service, database: database, name: name)
                    }
                }
            }
        case .v20200603:
            files.folders(in: "services").flatMap { service in
                files.files(in: "services/\(service)/rules", suffix: ".json").compactMap(json).compactMap { node in
                    collection(node, service: service)
                }
            }
        }
    }

    private func collection(service: String, database: String, name: String) -> CollectionDefinition {
        let folder = "data_sources/\(service)/\(database)/\(name)"
        return CollectionDefinition(
            service: service, database: database, name: name, schema: json("\(folder)/schema.json").flatMap(schema),
            rules: json("\(folder)/rules.json").map(rules),
            relationships: json("\(folder)/relationships.json").map(relationships) ?? [])
    }

    /// Rules of other services (`rules/s3.json`) have no collection and are skipped.
    private func collection(_ node: ConfigNode, service: String) -> CollectionDefinition? {
        guard node.child("collection") != nil, let database = node.required("database"),
            let name = node.required("collection")
        else { return nil }
        return CollectionDefinition(
            service: service, database: database, name: name, schema: node.child("schema").flatMap(schema),
            rules: rules(node), relationships: node.child("relationships").map(relationships) ?? [])
    }

    private func schema(_ node: ConfigNode) -> DocumentSchema? {
        guard case .document(let document) = node.value else {
            node.problem(.schemaInvalid, "a schema must be an object")
            return nil
        }
        guard !document.fields.isEmpty else { return nil }
        do throws(SchemaSyntaxError) {
            let schema = try DocumentSchema(document, dialect: .collection)
            for pattern in schema.patternsBeyondPostgres {
                log.add(
                    .schemaPatternUncheckable, severity: .warning, file: node.file,
                    pointer: node.pointer + pattern.pointer,
                    "Postgres can't match \(pattern.source) in the way clients' writes are matched: SQL that writes such a field is refused"
                )
            }
            return schema
        } catch {
            for issue in error.issues {
                log.add(
                    issue.isUnsupportedType ? .schemaTypeUnsupported : .schemaInvalid, file: node.file,
                    pointer: node.pointer + issue.pointer, issue.message)
            }
            return nil
        }
    }

    private func relationships(_ node: ConfigNode) -> [CollectionDefinition.Relationship] {
        node.entries.compactMap { field, node in
            guard let reference = node.required("ref") else { return nil }
            // #/relationship/<service>/<database>/<collection>
            let parts = reference.split(separator: "/").map(String.init)
            guard parts.count == 5 else {
                node.problem(.fieldValue, at: "ref", "must be #/relationship/<service>/<database>/<collection>")
                return nil
            }
            return CollectionDefinition.Relationship(
                field: field, database: parts[3], collection: parts[4], foreignKey: node.string("foreign_key") ?? "_id",
                isList: node.bool("is_list"))
        }
    }

    func rules(_ node: ConfigNode) -> CollectionRules {
        CollectionRules(
            roles: node.child("roles")?.elements.map(role) ?? [],
            filters: node.child("filters")?.elements.map { filter in
                RuleFilter(
                    name: filter.string("name") ?? "", applyWhen: filter.rule("apply_when") ?? .always,
                    query: filter.document("query"),
                    projection: filter.optionalDocument("projection") ?? filter.optionalDocument("project"))
            } ?? [])
    }

    private func role(_ node: ConfigNode) -> DocumentRole {
        DocumentRole(
            name: node.string("name") ?? "", applyWhen: node.rule("apply_when") ?? .always, read: node.rule("read"),
            write: node.rule("write"), insert: node.rule("insert"), delete: node.rule("delete"),
            search: node.rule("search"), fields: fieldPermissions(node.child("fields")),
            additionalFields: node.child("additional_fields").map(fieldPermission),
            readFilter: node.child("document_filters")?.rule("read"),
            writeFilter: node.child("document_filters")?.rule("write"))
    }

    private func fieldPermissions(_ node: ConfigNode?) -> [ExactText: DocumentRole.FieldPermission] {
        var permissions: [ExactText: DocumentRole.FieldPermission] = [:]
        for (name, entry) in node?.entries ?? [] { permissions[name] = fieldPermission(entry) }
        return permissions
    }

    private func fieldPermission(_ node: ConfigNode) -> DocumentRole.FieldPermission {
        DocumentRole.FieldPermission(
            read: node.rule("read"), write: node.rule("write"), fields: fieldPermissions(node.child("fields")))
    }
}

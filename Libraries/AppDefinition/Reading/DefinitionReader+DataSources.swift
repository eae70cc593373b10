import DocumentModel
import DocumentSchema
import QueryLanguage

extension DefinitionReader {
    /// `data_sources/<name>/config.json` (newer layout) and `services/<name>/config.json` (older; for other vendors' services in
    /// both layouts; http services also under `http_endpoints`). A converted folder has some in both places; the newer one is used.
    func dataSources() -> [DataSource] {
        var sources: [DataSource] = []
        for folder in ["data_sources", "services", "http_endpoints"] {
            for name in files.folders(in: folder) {
                guard let source = dataSource(name, in: folder) else { continue }
                guard let other = sources.first(where: { $0.name.hasSameBytes(as: source.name) }) else {
                    sources.append(source)
                    continue
                }
                // A converted folder has the same source in both layouts.
                if other.type.hasSameBytes(as: source.type), other.config == source.config { continue }
                log.add(
                    .partShadowed, severity: .warning, file: "\(folder)/\(name)/config.json",
                    "another service is named \(source.name), too, and is used: name them differently, or remove one")
            }
        }
        return sources
    }

    private func dataSource(_ name: String, in folder: String) -> DataSource? {
        let file = "\(folder)/\(name)/config.json"
        let defaultRules = json("\(folder)/\(name)/default_rule.json").map(rules)
        guard let node = json(file) else {
            // What a converted folder has left of a service is reported as such.
            let isConverted = files.folders(in: "data_sources").containsExactly(name)
            let hasCollections =
                !isConverted && ruleFiles("\(folder)/\(name)/rules").contains { json($0)?.child("collection") != nil }
            // A file that is there has been reported.
            guard folder == "data_sources" || hasCollections, files[file] == nil else { return nil }
            log.add(
                .fileMissing, severity: .warning, file: file,
                "the data source \(name) has no configuration, and is read as mongodb-atlas: add it")
            return DataSource(
                name: name, type: "mongodb-atlas", config: Document(), secretConfig: Document(),
                defaultRules: defaultRules, file: file)
        }
        var type = node.string("type") ?? ""
        if type.isEmpty {
            // Endpoints may have folders of their own, which are no services.
            guard folder != "http_endpoints" else { return nil }
            node.problem(.fieldMissing, severity: .warning, "type is missing: the service is read as mongodb-atlas")
            type = "mongodb-atlas"
        }
        var source = DataSource(
            name: node.string("name") ?? name, type: type, config: node.document("config"),
            secretConfig: node.document("secret_config"), defaultRules: defaultRules, file: file)
        noteSettings(node.child("config"), isCluster: source.kind == .documents)
        if let kind = source.kind, kind != .documents { source.rules = serviceRules("\(folder)/\(name)/rules") }
        return source
    }

    /// Asks for what is known of a data source's settings. Of a cluster's, the others have no effect; those of other services are read where they
    /// are used.
    private func noteSettings(_ config: ConfigNode?, isCluster: Bool) {
        guard let config, let settings = config.value.documentValue else { return }
        for key in isCluster ? ["clusterName", "sync"] : settings.keys { _ = config.child(key) }
        // As it always is here.
        if isCluster, config.value["readPreference"] == "primary" { _ = config.child("readPreference") }
    }

    private func serviceRules(_ folder: String) -> [ServiceRule] {
        ruleFiles(folder).compactMap(json).map { node in
            ServiceRule(
                name: node.string("name") ?? "", file: node.file, actions: node.strings("actions"),
                when: node.rule("when") ?? .always)
        }
    }

    /// The files of a folder of rules, without the copies that an editor leaves.
    private func ruleFiles(_ folder: String) -> [String] {
        files.files(in: folder, suffix: ".json").filter { !$0.hasSuffix(".bck.json") }
    }

    /// One folder per collection in the newer layout, one file with schema and rules in the older. A service that has collections in
    /// both was converted, and the newer ones are used.
    func collections(of sources: [DataSource]) -> [CollectionDefinition] {
        let newer = files.folders(in: "data_sources").flatMap(collections)
        let older = files.folders(in: "services").flatMap { folder -> [CollectionDefinition] in
            let service = json("services/\(folder)/config.json")?.string("name") ?? folder
            if newer.contains(where: { $0.service.hasSameBytes(as: service) }) {
                reportShadowed(ruleFiles("services/\(folder)/rules"), service: service)
                return []
            }
            return ruleFiles("services/\(folder)/rules").compactMap(json)
                .compactMap { collection($0, service: service) }
        }
        return newer + older
    }

    private func reportShadowed(_ rules: [String], service: String) {
        guard let first = rules.first else { return }
        let names = rules.map { $0.splitAtBytes("/").last ?? $0 }.joined(separator: ", ")
        log.add(
            .partShadowed, severity: .warning, file: first,
            "\(names): these rules and schemas aren't used, since data_sources has those of \(service): move what is only here, and remove the folder"
        )
    }

    /// The collections of a folder in `data_sources`. `rules.json` repeats database and collection, and the server used what it says.
    private func collections(in folder: String) -> [CollectionDefinition] {
        let service = json("data_sources/\(folder)/config.json")?.string("name") ?? folder
        let places = files.folders(in: "data_sources/\(folder)").flatMap { database in
            files.folders(in: "data_sources/\(folder)/\(database)").map { (database, $0) }
        }
        let names = Set(texts: places.map { "\($0).\($1)" })
        return places.compactMap { database, name in
            let path = "data_sources/\(folder)/\(database)/\(name)"
            let parts = ["schema.json", "rules.json", "relationships.json"].map { "\(path)/\($0)" }
            guard parts.contains(where: { files[$0] != nil }) else { return nil }
            let rulesNode = json(parts[1])
            var place = (database, name)
            if let node = rulesNode {
                let told = (node.string("database") ?? database, node.string("collection") ?? name)
                if !told.0.hasSameBytes(as: database) || !told.1.hasSameBytes(as: name) {
                    let isTaken = names.contains("\(told.0).\(told.1)") || told.0.isEmpty || told.1.isEmpty
                    node.problem(
                        .fieldValue, severity: .warning,
                        at: told.0.hasSameBytes(as: database) ? "collection" : "database",
                        "the rules say \(told.0).\(told.1), the folder \(database).\(name): "
                            + (isTaken
                                ? "the folder is used, since the other name is taken or empty; make them agree"
                                : "the rules are used; make them agree"))
                    if !isTaken { place = told }
                }
            }
            return CollectionDefinition(
                service: service, database: place.0, name: place.1, place: path, isFolder: true,
                schema: json(parts[0]).flatMap(schema),
                rules: rulesNode.map(rules), relationships: json(parts[2]).map(relationships) ?? [])
        }
    }

    /// Rules of other services (`rules/s3.json`) have no collection and are skipped.
    private func collection(_ node: ConfigNode, service: String) -> CollectionDefinition? {
        guard node.child("collection") != nil, let database = node.required("database"),
            let name = node.required("collection")
        else { return nil }
        let fileName = node.file.splitAtBytes("/").last ?? ""
        if !fileName.hasSameBytes(as: "\(database).\(name).json") {
            node.problem(
                .fieldValue, severity: .warning, at: "collection",
                "the rules say \(database).\(name), the file is named \(fileName): the rules are used; make them agree")
        }
        return CollectionDefinition(
            service: service, database: database, name: name, place: node.file, isFolder: false,
            schema: node.child("schema").flatMap(schema), rules: rules(node),
            relationships: node.child("relationships").map(relationships) ?? [])
    }

    private func schema(_ node: ConfigNode) -> DocumentSchema? {
        guard case .document(let document) = node.value else {
            node.problem(.schemaInvalid, "a schema must be an object")
            return nil
        }
        guard !document.fields.isEmpty else { return nil }
        do throws(SchemaSyntaxError) {
            let schema = try parsedSchema(document, node)
            for pattern in schema.patternsBeyondPostgres {
                log.add(
                    .schemaPatternUncheckable, severity: .warning, file: node.file,
                    pointer: node.pointer + pattern.pointer,
                    "Postgres can't match \(pattern.source) in the way clients' writes are matched: SQL that writes such a field is refused; write such documents by functions and clients, or simplify the pattern"
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

    /// The schema without keywords that have no meaning, such as `validate`, which held a rule that App Services evaluated.
    private func parsedSchema(_ document: Document, _ node: ConfigNode) throws(SchemaSyntaxError) -> DocumentSchema {
        do throws(SchemaSyntaxError) {
            return try DocumentSchema(document, dialect: .collection)
        } catch {
            guard error.issues.allSatisfy(\.isUnknownKeyword) else { throw error }
            var value = Value.document(document)
            for issue in error.issues {
                let path = issue.pointer.splitAtBytes("/").dropFirst().map { JSONPointer.unescape(Substring($0)) }
                value = value.removing(path[...])
                let isRule = path.last?.hasSameBytes(as: "validate") == true
                log.add(
                    .schemaInvalid, severity: .warning, file: node.file, pointer: node.pointer + issue.pointer,
                    "the keyword \(path.last ?? "") is ignored: "
                        + (isRule
                            ? "such rules aren't evaluated; write the condition into the rules of the collection"
                            : "it has no meaning in a schema"))
            }
            return try DocumentSchema(value.documentValue ?? document, dialect: .collection)
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
                checkQuery(of: filter)
                return RuleFilter(
                    name: filter.string("name") ?? "", applyWhen: filter.rule("apply_when") ?? .always,
                    query: filter.document("query"),
                    projection: filter.optionalDocument("projection") ?? filter.optionalDocument("project"))
            } ?? [])
    }

    /// Warns of a query that always fails. With expansions, whose values are known only when it is used, that is certain of operators that
    /// aren't supported.
    private func checkQuery(of filter: ConfigNode) {
        let query = filter.document("query")
        let hasExpansions = ExtendedJSON.print(query).contains("%")
        do {
            _ = try Filter(query)
        } catch {
            if hasExpansions, error.codeName != "CommandNotSupported" { return }
            filter.problem(
                .matchInvalid, severity: .warning, at: "query",
                "every call that this filter applies to fails, correct it: \(error.message)")
        }
    }

    private func role(_ node: ConfigNode) -> DocumentRole {
        DocumentRole(
            name: node.string("name") ?? "", applyWhen: appliesWhen(node), read: node.rule("read"),
            write: node.rule("write"), insert: node.rule("insert"), delete: node.rule("delete"),
            search: node.rule("search"), fields: fieldPermissions(node.child("fields")),
            additionalFields: node.child("additional_fields").map(fieldPermission),
            readFilter: node.child("document_filters")?.rule("read"),
            writeFilter: node.child("document_filters")?.rule("write"))
    }

    /// A role without a condition applies to everybody. Where another field looks like the condition, it applies to nobody.
    private func appliesWhen(_ role: ConfigNode) -> RuleExpression {
        if let rule = role.rule("apply_when") { return rule }
        let others = role.entries.map(\.key).filter { name in
            name.lowercased().filter(\.isLetter).hasSameBytes(as: "applywhen") && !name.hasSameBytes(as: "apply_when")
        }
        guard let other = others.first else { return .always }
        role.problem(
            .fieldValue, severity: .warning, at: other,
            "the role applies to nobody, since its condition isn't named apply_when: correct the name")
        return .never
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

extension Value {
    /// The value without the field at the end of a path.
    fileprivate func removing(_ path: ArraySlice<String>) -> Value {
        guard let first = path.first else { return self }
        let rest = path.dropFirst()
        switch self {
        case .document(var document):
            document[first] = rest.isEmpty ? nil : document[first]?.removing(rest)
            return .document(document)
        case .array(var items):
            guard let index = Int(first), items.indices.contains(index) else { return self }
            items[index] = items[index].removing(rest)
            return .array(items)
        default: return self
        }
    }
}

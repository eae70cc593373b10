import DocumentModel
import DocumentSchema
import Foundation

/// Checks that need the whole definition: references between its parts.
struct DefinitionCheck {
    let log: ProblemLog
    let syntaxCheck: AppDefinition.SyntaxCheck?

    func check(_ definition: inout AppDefinition) {
        checkNames(definition)
        checkFunctions(definition)
        checkDataAPI(definition)
        checkEndpoints(&definition)
        checkTriggers(definition)
        checkUserData(definition)
        checkProviders(definition)
        checkRules(definition)
        checkServices(definition)
        checkSync(definition)
        checkClasses(definition)
        checkExtensions(definition)
        checkStores(definition)
        checkRelationships(definition)
    }

    private func checkNames(_ definition: AppDefinition) {
        func check(_ names: [String], _ what: String, place: (Int) -> (file: String, pointer: String)) {
            var seen: Set<ExactText> = []
            for (index, name) in names.enumerated() where !seen.insert(name) {
                let (file, pointer) = place(index)
                log.add(
                    .nameDuplicate, file: file, pointer: pointer, "two \(what) are named \(name): rename one of them")
            }
        }
        let functions = definition.functions
        check(functions.map(\.name), "functions") { index in
            placeOfListed(functions[index].name) ?? (functions[index].file, "")
        }
        check(definition.triggers.map(\.name), "triggers") { (definition.triggers[$0].file, "/name") }
        let values = definition.files.files(in: "values", suffix: ".json")
        check(definition.values.map(\.name), "values") { index in
            let name = definition.values[index].name
            let files = values.filter { log.value($0)?["name"]?.stringValue?.hasSameBytes(as: name) == true }
            return (files.last ?? "values", "/name")
        }
        check(definition.authProviders.map(\.name), "auth providers") { index in
            let name = definition.authProviders[index].name
            let file = "auth/providers.json"
            return definition.files[file] != nil
                ? (file, "/" + JSONPointer.escape(name)) : ("auth_providers/\(name).json", "/name")
        }
    }

    /// The place of the last entry of `functions/config.json` with a name.
    private func placeOfListed(_ name: String) -> (file: String, pointer: String)? {
        let file = "functions/config.json"
        let entries = log.value(file)?.arrayValue ?? []
        let index = entries.lastIndex { $0["name"]?.stringValue?.hasSameBytes(as: name) == true }
        return index.map { (file, "/\($0)/name") }
    }

    private func checkFunctions(_ definition: AppDefinition) {
        for function in definition.functions {
            if let problem = syntaxCheck?(function.source, function.name) {
                // A problem at the end of the source is reported after its last line.
                let line = problem.line.map { min($0, FunctionSource.lineCount(function.source)) }
                log.add(
                    .functionSyntax, severity: function.isListed ? .error : .warning, file: function.file, line: line,
                    problem.message)
            } else if !FunctionSource.assignsExports(function.source) {
                log.add(
                    .functionNotExported, file: function.file,
                    "nothing is assigned to exports, so that there is no function to call: assign the function, as in exports = function () {}"
                )
            }
            if let rule = function.canEvaluate {
                check(rule, definition, file: function.settingsFile ?? function.file, without: Self.absentInCalls)
            }
        }
    }

    private func checkDataAPI(_ definition: AppDefinition) {
        guard let rule = definition.dataAPI?.canEvaluate,
            let file = DefinitionReader.dataAPIFiles.first(where: { definition.files[$0] != nil })
        else { return }
        check(rule, definition, file: file, without: Self.absentInCalls)
    }

    /// What the rule that admits a caller doesn't have.
    private static let absentInCalls = RuleExpansion.Root.ofDocuments.union([.args, .partition])

    private func checkEndpoints(_ definition: inout AppDefinition) {
        let file = DefinitionReader.endpointFile(log)
        var seen: Set<ExactText> = []
        for (index, endpoint) in definition.httpEndpoints.enumerated() {
            guard let function = definition.function(endpoint.functionName) else {
                definition.httpEndpoints[index].refuse()
                log.add(
                    .endpointNotServed, severity: .warning, file: file, pointer: "/\(index)/function_name",
                    "the endpoint \(endpoint.method) \(endpoint.route) isn't served: its function \(endpoint.functionName) isn't in the export: add it, or remove the endpoint"
                )
                continue
            }
            if endpoint.isDisabled { continue }
            if !seen.insert("\(endpoint.method) \(endpoint.route)").inserted {
                log.add(
                    .nameDuplicate, file: file, pointer: "/\(index)/route",
                    "two endpoints are \(endpoint.method) \(endpoint.route): change the route of one")
            }
            if endpoint.createsUsers, function.runsAsCaller {
                log.add(
                    .fieldValue, severity: .warning, file: file, pointer: "/\(index)/create_user_on_auth",
                    "an endpoint creates no users: its caller signs in first, and sends the access token")
            }
        }
    }

    private func checkTriggers(_ definition: AppDefinition) {
        for trigger in definition.triggers {
            let file = trigger.file
            let severity: DefinitionProblem.Severity = trigger.isDisabled ? .warning : .error
            if !trigger.functionName.isEmpty, definition.function(trigger.functionName) == nil {
                log.add(
                    .functionUnknown, severity: severity, file: file,
                    pointer: pointerOfTriggerFunction(file, definition),
                    "the trigger \(trigger.name) calls \(trigger.functionName), which isn't a function of the app: add it, or correct the name"
                )
            }
            if case .authentication(let event) = trigger.event { checkProviders(of: event, definition, file: file) }
            guard case .database(let event) = trigger.event else { continue }
            if !definition.dataSources.contains(where: { $0.name.hasSameBytes(as: event.service) }) {
                // Without any data source in the export there is no name to compare with, and only one database.
                let isKnown = definition.dataSources.contains(where: \.isDocumentStore)
                log.add(
                    .serviceUnknown, severity: isKnown ? severity : .warning, file: file,
                    pointer: "/config/service_name",
                    "the app has no data source \(event.service): add it, or correct the name")
            }
            if let collection = event.collection,
                let other = definition.serviceBeyondReach(
                    of: event.service, for: .init(database: event.database, collection: collection))
            {
                log.add(
                    .serviceUnknown, severity: severity, file: file, pointer: "/config/service_name",
                    "\(event.database).\(collection) belongs to \(other), which is another cluster than \(event.service): name the service that has it"
                )
            }
            checkCollection(of: event, definition, file: file)
        }
    }

    private func checkUserData(_ definition: AppDefinition) {
        guard let data = definition.customUserData else { return }
        checkNames(of: data, definition)
        let stores = definition.dataSources.filter(\.isDocumentStore).map(\.name)
        if !stores.isEmpty, !stores.containsExactly(data.service) {
            reportUserData(
                definition, .serviceUnknown, at: "mongo_service_name", severity: .warning,
                "no data source is named \(data.service): name one of \(stores.joined(separator: ", "))")
        }
        guard
            let other = definition.serviceBeyondReach(
                of: data.service, for: .init(database: data.database, collection: data.collection))
        else { return }
        reportUserData(
            definition, .serviceUnknown, at: "mongo_service_name", severity: .error,
            "\(data.database).\(data.collection) belongs to \(other), which is another cluster than \(data.service): name the service that has it"
        )
    }

    private func checkNames(of data: CustomUserData, _ definition: AppDefinition) {
        guard data.isEnabled else { return }
        guard let collection = definition.collection(data.collection, database: data.database) else {
            if isNamedNowhere(data.collection, database: data.database, definition) {
                reportUserData(
                    definition, .collectionUnknown, at: "collection_name", severity: .warning,
                    "the app has no collection \(data.database).\(data.collection), and no function names it: check the name; until something writes there, users have no custom data"
                )
            }
            return
        }
        guard let fields = collection.schema?.fieldNames, !fields.isEmpty,
            let field = data.userIdField.split(separator: ".").first, !fields.containsExactly(String(field))
        else { return }
        reportUserData(
            definition, .fieldValue, at: "user_id_field", severity: .warning,
            "the schema of \(data.database).\(data.collection) has no field \(data.userIdField): users have no custom data, unless documents have the field all the same"
        )
    }

    private func reportUserData(
        _ definition: AppDefinition, _ code: DefinitionProblem.Code, at field: String,
        severity: DefinitionProblem.Severity, _ message: String
    ) {
        let own = "auth/custom_user_data.json"
        let isOwn = definition.files[own] != nil
        let root = DefinitionReader.rootFiles.first { definition.files[$0] != nil } ?? ""
        log.add(
            code, severity: severity, file: isOwn ? own : root,
            pointer: (isOwn ? "" : "/custom_user_data_config") + "/" + field, message)
    }

    /// Users who signed in before a provider was removed still have it, so a known type isn't a mistake.
    private func checkProviders(
        of event: TriggerDefinition.Authentication, _ definition: AppDefinition, file: String
    ) {
        let known = UnservedFeatures.servedProviders
        for (index, name) in event.providers.enumerated()
        where !known.contains(name) && definition.authProvider(name) == nil {
            log.add(
                .fieldValue, severity: .warning, file: file, pointer: "/config/providers/\(index)",
                "there is no provider \(name), so that the trigger never runs for it: the types are \(known.sorted().joined(separator: ", "))"
            )
        }
    }

    private func checkCollection(of event: TriggerDefinition.Database, _ definition: AppDefinition, file: String) {
        guard isNamedNowhere(event.collection, database: event.database, definition) else { return }
        guard let collection = event.collection else {
            log.add(
                .collectionUnknown, severity: .warning, file: file, pointer: "/config/database",
                "the app has no collection in \(event.database), and no function names this database: check the name; the trigger runs if anything writes there"
            )
            return
        }
        log.add(
            .collectionUnknown, severity: .warning, file: file, pointer: "/config/collection",
            "the app has no collection \(event.database).\(collection), and no function names it: check the name; the trigger runs if anything writes there"
        )
    }

    /// An export doesn't name every collection: functions, clients under default rules, and other programs also write to others.
    /// - Parameter collection: `nil` stands for all those of the database.
    private func isNamedNowhere(_ collection: String?, database: String, _ definition: AppDefinition) -> Bool {
        if definition.collections.isEmpty { return false }
        let ofDatabase = definition.collections.filter { $0.database.hasSameBytes(as: database) }
        if let collection, !ofDatabase.isEmpty {
            return !ofDatabase.contains { $0.name.hasSameBytes(as: collection) }
                && !definition.functions.contains { $0.source.contains(collection) }
        }
        return ofDatabase.isEmpty && !definition.functions.contains { $0.source.contains(database) }
    }

    private func checkProviders(_ definition: AppDefinition) {
        for provider in definition.authProviders where !provider.isDisabled {
            var names: [String] = []
            if provider.type == "local-userpass" {
                let settings = EmailPasswordSettings(provider)
                for case .function(let name) in [settings.confirmation, settings.reset] { names.append(name) }
            }
            if provider.type == "custom-function", let name = provider.functionName {
                names.append(name)
            }
            for name in names where !name.isEmpty && definition.function(name) == nil {
                let file =
                    definition.files["auth/providers.json"] == nil
                    ? "auth_providers/\(provider.name).json" : "auth/providers.json"
                unknown(name, file: file)
            }
        }
    }

    private func checkRules(_ definition: AppDefinition) {
        for collection in definition.collections {
            let file = collection.isFolder ? "\(collection.place)/rules.json" : collection.place
            for rule in collection.rules?.roles.flatMap(\.rules) ?? [] {
                check(rule, definition, file: file, without: [.partition, .args])
            }
            for filter in collection.rules?.filters ?? [] {
                check(filter.applyWhen, definition, file: file, without: [.partition, .args])
            }
        }
    }

    private func checkServices(_ definition: AppDefinition) {
        for rule in definition.dataSources.flatMap(\.rules) {
            check(rule.when, definition, file: rule.file, without: [.partition])
        }
    }

    /// Checks what a rule names: functions, and parts of its context, of which rules at its place lack some.
    func check(
        _ rule: RuleExpression, _ definition: AppDefinition, file: String, without absent: Set<RuleExpansion.Root>
    ) {
        checkCalls(rule, definition, file: file)
        RuleReferences(log: log, definition: definition).check(rule, file: file, without: absent)
    }

    /// Services of one cluster are one database, in which each service has rules of its own for the same collection.
    private func checkStores(_ definition: AppDefinition) {
        var seen: [ChangeEvent.Namespace: CollectionDefinition] = [:]
        for collection in definition.collections {
            let namespace = ChangeEvent.Namespace(database: collection.database, collection: collection.name)
            if !namespace.isValid {
                log.add(
                    .featureNotServed, severity: .warning,
                    file: collection.isFolder ? "\(collection.place)/rules.json" : collection.place,
                    "\(collection.database).\(collection.name) can't have documents: a collection's name has at most 120 bytes without $, a database's at most 63 without space, / \\ . \" $ * < > : | ?"
                )
            }
            guard let first = seen[namespace] else {
                seen[namespace] = collection
                continue
            }
            let name = "\(collection.database).\(collection.name)"
            let file = collection.isFolder ? "\(collection.place)/rules.json" : collection.place
            if first.service.hasSameBytes(as: collection.service) {
                log.add(
                    .nameDuplicate, file: file, "two definitions of \(name): \(first.place) has the other; remove one")
            } else if !definition.isSameStore(first.service, collection.service) {
                log.add(
                    .collectionConflict, file: file,
                    "\(first.service) and \(collection.service) are different clusters, and both have \(name): here they would be one collection; deploy them as two apps, or rename one"
                )
            } else if let one = first.schema, let other = collection.schema, one.source != other.source {
                log.add(
                    .collectionConflict, severity: .warning, file: file,
                    "\(first.service) and \(collection.service) have different schemas for \(name), which is one collection: that of \(first.service) is used; make them agree"
                )
            }
        }
    }

    /// Relationships are no rules: they only tell clients what to load, and one that leads nowhere gives nothing.
    private func checkRelationships(_ definition: AppDefinition) {
        for collection in definition.collections {
            let file = collection.isFolder ? "\(collection.place)/relationships.json" : collection.place
            for relationship in collection.relationships
            where definition.collection(relationship.collection, database: relationship.database) == nil {
                let key = JSONPointer.escape(relationship.field)
                log.add(
                    .collectionUnknown, severity: .warning, file: file,
                    pointer: (collection.isFolder ? "" : "/relationships") + "/\(key)/ref",
                    "the relationship \(relationship.field) leads to \(relationship.database).\(relationship.collection), which isn't a collection of the app: correct the names, or remove the relationship"
                )
            }
        }
    }

    private func checkExtensions(_ definition: AppDefinition) {
        guard !definition.collections.isEmpty else { return }
        if let presence = definition.presence,
            definition.collection(presence.collection, database: presence.database) == nil
        {
            log.add(
                .collectionUnknown, file: "partita.json", pointer: "/presence/collection",
                "the app has no collection \(presence.database).\(presence.collection): correct the name")
        }
        for (index, media) in definition.media.enumerated() {
            let pointer = "/media/\(index)/collection"
            guard let collection = definition.collection(media.collection, database: media.database) else {
                log.add(
                    .collectionUnknown, file: "partita.json", pointer: pointer,
                    "the app has no collection \(media.database).\(media.collection): correct the name")
                continue
            }
            let verdict = definition.syncVerdict(of: collection)
            if verdict == .synced { continue }
            // Sync that is off for a while refuses no deployment.
            log.add(
                .mediaUnreachable, severity: definition.sync?.isEnabled == false ? .warning : .error,
                file: "partita.json", pointer: pointer,
                "nobody can open the links of \(media.database).\(media.collection): they open for users who may read the document's partition, and the collection is \(verdict)"
            )
        }
    }

    // MARK: Places

    private func checkCalls(_ rule: RuleExpression?, _ definition: AppDefinition, file: String) {
        for name in (rule?.functionNames ?? []).sortedTexts where definition.function(name) == nil {
            unknown(name, file: file)
        }
    }

    /// Logs a missing function, at the line that names it.
    private func unknown(_ name: String, file: String) {
        log.add(
            .functionUnknown, file: file, line: log.line(of: "\"\(name)\"", in: file),
            "\(name) isn't a function of the app: add it, or correct the name"
        )
    }

    private func pointerOfTriggerFunction(_ file: String, _ definition: AppDefinition) -> String {
        definition.files[file]?.contains("event_processors") == true
            ? "/event_processors/FUNCTION/config/function_name" : "/function_name"
    }
}

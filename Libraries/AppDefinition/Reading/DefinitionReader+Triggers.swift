import DocumentModel
import QueryLanguage

extension DefinitionReader {
    /// `triggers/<name>.json`, in both layouts.
    func triggers() -> [TriggerDefinition] {
        files.files(in: "triggers", suffix: ".json").compactMap(json).compactMap(trigger)
    }

    private func trigger(_ node: ConfigNode) -> TriggerDefinition? {
        guard let name = node.required("name"), let type = node.required("type") else { return nil }
        let nested = node.child(path: "event_processors", "FUNCTION", "config")
        guard let function = node.string("function_name") ?? nested?.required("function_name") else {
            if node.child(path: "event_processors", "AWS_EVENTBRIDGE") != nil {
                node.problem(
                    .featureNotServed, at: "event_processors",
                    "triggers that send to EventBridge aren't served: name a function, which sends with context.http")
            } else if nested == nil {
                node.problem(.fieldMissing, "function_name is missing")
            }
            return nil
        }
        guard let config = node.child("config") else {
            node.problem(.fieldMissing, "config is missing")
            return nil
        }
        let event: TriggerDefinition.Event? =
            switch type {
            case "DATABASE": databaseEvent(config)
            case "AUTHENTICATION": authenticationEvent(config)
            case "SCHEDULED": scheduledEvent(config)
            default: nil
            }
        guard let event else {
            if !["DATABASE", "AUTHENTICATION", "SCHEDULED"].contains(type) {
                node.problem(.fieldValue, at: "type", "must be DATABASE, AUTHENTICATION or SCHEDULED")
            }
            return nil
        }
        return TriggerDefinition(
            name: name, file: node.file, functionName: function, isDisabled: node.bool("disabled"), event: event)
    }

    private func databaseEvent(_ config: ConfigNode) -> TriggerDefinition.Event? {
        guard let database = config.required("database") else { return nil }
        var operations: Set<ChangeEvent.OperationType> = []
        for node in config.child("operation_types")?.elements ?? [] {
            guard let name = node.text else { continue }
            if let operation = ChangeEvent.OperationType(rawValue: name.lowercased()) {
                operations.insert(operation)
            } else {
                node.problem(.fieldValue, severity: .warning, "events of type \(name) don't occur here")
            }
        }
        if operations.isEmpty {
            config.problem(
                .fieldMissing, at: config.child("operation_types") == nil ? nil : "operation_types",
                "operation_types needs INSERT, UPDATE, REPLACE or DELETE")
        }
        let collection = config.string("collection") ?? ""
        return .database(
            TriggerDefinition.Database(
                service: config.string("service_name") ?? "mongodb-atlas", database: database,
                collection: collection.isEmpty ? nil : collection, operationTypes: operations,
                match: parsed(config, "match", "a filter") { document throws(QueryError) in try Filter(document) },
                projection: parsed(config, "project", "a projection") { document throws(QueryError) in
                    try Projection(document)
                },
                wantsFullDocument: config.bool("full_document"),
                wantsDocumentBeforeChange: config.bool("full_document_before_change"),
                isUnordered: config.bool("unordered"), skipsCatchUpEvents: config.bool("skip_catchup_events")))
    }

    /// The parsed form of a document of the configuration; `nil` when it is absent or empty.
    private func parsed<Meaning>(
        _ config: ConfigNode, _ key: String, _ kind: String, _ parse: (Document) throws(QueryError) -> Meaning
    ) -> Meaning? {
        guard let document = config.optionalDocument(key), !document.fields.isEmpty else { return nil }
        do {
            return try parse(document)
        } catch {
            config.problem(.matchInvalid, at: key, "not \(kind): \(error.message)")
            return nil
        }
    }

    private func authenticationEvent(_ config: ConfigNode) -> TriggerDefinition.Event? {
        guard let name = config.required("operation_type") else { return nil }
        guard let operation = TriggerDefinition.Authentication.Operation(rawValue: name) else {
            config.problem(.fieldValue, at: "operation_type", "must be CREATE, LOGIN, LOGOUT or DELETE")
            return nil
        }
        return .authentication(
            TriggerDefinition.Authentication(operation: operation, providers: config.strings("providers")))
    }

    private func scheduledEvent(_ config: ConfigNode) -> TriggerDefinition.Event? {
        guard let text = config.required("schedule") else { return nil }
        guard let cron = CronSchedule(text) else {
            config.problem(
                .scheduleInvalid, at: "schedule", "not a five-field cron expression, or one that never matches")
            return nil
        }
        return .schedule(TriggerDefinition.Schedule(cron: cron, skipsCatchUpEvents: config.bool("skip_catchup_events")))
    }
}

import DocumentModel
import QueryLanguage

extension DefinitionReader {
    /// `triggers/<name>.json`, in both layouts.
    func triggers() -> [TriggerDefinition] {
        files.files(in: "triggers", suffix: ".json").compactMap(json).compactMap(trigger)
    }

    /// The function that custom user data names for new users, as a trigger on their creation.
    func userCreationTriggers(_ root: ConfigNode?, _ definition: AppDefinition) -> [TriggerDefinition] {
        let key = "on_user_creation_function_name"
        let (own, inline) = customUserDataConfig(root)
        guard let node = own ?? inline, node.bool("enabled"), let function = node.string(key), !function.isEmpty else {
            return []
        }
        guard definition.function(function) != nil else {
            node.problem(
                .functionUnknown, severity: .warning, at: key,
                "\(function), which new users should be given to, isn't a function of the app: add it, or empty \(key)")
            return []
        }
        let event = TriggerDefinition.Authentication(operation: .create, providers: [], givesUserOnly: true)
        return [
            TriggerDefinition(
                name: key, file: node.file, functionName: function, isDisabled: false, event: .authentication(event))
        ]
    }

    private func trigger(_ node: ConfigNode) -> TriggerDefinition? {
        guard let name = node.required("name"), let type = node.required("type") else { return nil }
        let isDisabled = node.bool("disabled")
        /// A disabled trigger that can't be served is left out, since it would do nothing anyway.
        let severity: DefinitionProblem.Severity = isDisabled ? .warning : .error
        let nested = node.child(path: "event_processors", "FUNCTION", "config")
        let function = node.string("function_name") ?? nested?.string("function_name") ?? ""
        if function.isEmpty, node.child(path: "event_processors", "AWS_EVENTBRIDGE") != nil {
            node.problem(
                .featureNotServed, severity: severity, at: "event_processors",
                "triggers that send to EventBridge aren't served: name a function, which sends with context.http")
            return nil
        }
        if !function.isEmpty, node.child(path: "event_processors", "AWS_EVENTBRIDGE") != nil {
            node.problem(
                .featureNotServed, severity: .warning, at: "event_processors",
                "the trigger calls its function, and sends nothing to EventBridge: the function can, with context.http")
        }
        guard let config = node.child("config") else {
            node.problem(.fieldMissing, severity: severity, "config is missing: add it")
            return nil
        }
        let event: TriggerDefinition.Event?
        switch type {
        case "DATABASE": event = databaseEvent(config, severity)
        case "AUTHENTICATION": event = authenticationEvent(config, severity)
        case "SCHEDULED": event = scheduledEvent(config, severity)
        default:
            node.problem(
                .fieldValue, severity: severity, at: "type", "must be DATABASE, AUTHENTICATION or SCHEDULED")
            return nil
        }
        guard let event else { return nil }
        if function.isEmpty {
            node.problem(
                .functionMissing, severity: .warning,
                "the trigger \(name) names no function, and stays disabled: name one in function_name")
        }
        return TriggerDefinition(
            name: name, file: node.file, functionName: function, isDisabled: isDisabled || function.isEmpty,
            event: event)
    }

    private func databaseEvent(
        _ config: ConfigNode, _ severity: DefinitionProblem.Severity
    ) -> TriggerDefinition.Event? {
        guard let database = text(config, "database", severity) else { return nil }
        var operations: Set<ChangeEvent.OperationType> = []
        for node in config.child("operation_types")?.elements ?? [] {
            guard let name = node.text else { continue }
            if let operation = ChangeEvent.OperationType(rawValue: name.lowercased()) {
                operations.insert(operation)
            } else {
                node.problem(
                    .fieldValue, severity: .warning,
                    "events of type \(name) don't occur here, and are skipped: remove the type")
            }
        }
        if operations.isEmpty {
            config.problem(
                .fieldMissing, severity: severity,
                at: config.child("operation_types") == nil ? nil : "operation_types",
                "operation_types needs INSERT, UPDATE, REPLACE or DELETE")
            return nil
        }
        let collection = config.string("collection") ?? ""
        return .database(
            TriggerDefinition.Database(
                service: config.string("service_name") ?? "mongodb-atlas", database: database,
                collection: collection.isEmpty ? nil : collection, operationTypes: operations,
                match: parsed(config, "match", "a filter", severity) { document throws(QueryError) in
                    try Filter(document)
                },
                projection: parsed(config, "project", "a projection", severity) { document throws(QueryError) in
                    try Projection(document)
                },
                wantsFullDocument: config.bool("full_document"),
                wantsDocumentBeforeChange: config.bool("full_document_before_change"),
                isUnordered: config.bool("unordered"), skipsCatchUpEvents: config.bool("skip_catchup_events")))
    }

    /// The parsed form of a document of the configuration; `nil` when it is absent or empty.
    private func parsed<Meaning>(
        _ config: ConfigNode, _ key: String, _ kind: String, _ severity: DefinitionProblem.Severity,
        _ parse: (Document) throws(QueryError) -> Meaning
    ) -> Meaning? {
        guard let document = config.optionalDocument(key), !document.fields.isEmpty else { return nil }
        do {
            return try parse(document)
        } catch {
            config.problem(.matchInvalid, severity: severity, at: key, "not \(kind), correct it: \(error.message)")
            return nil
        }
    }

    /// A text that must be present and not empty; a missing one is logged with the severity of the trigger's problems.
    private func text(_ config: ConfigNode, _ key: String, _ severity: DefinitionProblem.Severity) -> String? {
        if let text = config.string(key), !text.isEmpty { return text }
        config.problem(.fieldMissing, severity: severity, "\(key) is missing or empty: fill it in")
        return nil
    }

    private func authenticationEvent(
        _ config: ConfigNode, _ severity: DefinitionProblem.Severity
    ) -> TriggerDefinition.Event? {
        guard let name = text(config, "operation_type", severity) else { return nil }
        guard let operation = TriggerDefinition.Authentication.Operation(rawValue: name) else {
            config.problem(
                .fieldValue, severity: severity, at: "operation_type", "must be CREATE, LOGIN, LOGOUT or DELETE")
            return nil
        }
        return .authentication(
            TriggerDefinition.Authentication(operation: operation, providers: config.strings("providers")))
    }

    private func scheduledEvent(
        _ config: ConfigNode, _ severity: DefinitionProblem.Severity
    ) -> TriggerDefinition.Event? {
        guard let text = text(config, "schedule", severity) else { return nil }
        guard let cron = CronSchedule(text) else {
            config.problem(
                .scheduleInvalid, severity: severity, at: "schedule",
                "not a five-field cron expression, or one that never matches: write minute, hour, day, month and weekday, as in 0 3 * * *"
            )
            return nil
        }
        return .schedule(TriggerDefinition.Schedule(cron: cron, skipsCatchUpEvents: config.bool("skip_catchup_events")))
    }
}

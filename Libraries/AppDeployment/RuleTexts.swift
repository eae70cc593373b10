import AppDefinition
import DocumentModel

/// All that the answers of rules may depend on, besides users and documents. Rules are only compared when these differ.
struct RuleTexts: Equatable {
    private var texts: [ExactText: ExactText] = [:]
    /// Those of the functions that rules call.
    private var packages = AppPackages.none

    private mutating func add(_ name: String, _ text: String) { texts[name] = ExactText(text) }

    /// What every rule sees of an app.
    private mutating func addSettings(of app: AppDefinition) {
        for value in app.values {
            add("value \(value.name)", "\(value.isFromSecret) \(ExtendedJSON.print(value.value))")
        }
        add("environment", "\(app.environmentTag) \(ExtendedJSON.print(.document(app.environmentValues)))")
        add("user data", app.customUserData.map { "\($0)" } ?? "")
    }

    private mutating func addFunctions(of app: AppDefinition) {
        for function in app.functions {
            add(
                "function \(function.name)",
                "\(function.runsAsSystem) \(function.runAsUserId ?? "") \(function.source)")
        }
        packages = app.files.packages
    }

    private mutating func addDataRules(of app: AppDefinition) {
        for (path, text) in app.files.texts
        where ["data_sources/", "services/"].contains(where: path.text.startsWithBytes(of:))
            && !path.text.hasSuffix("/schema.json") && !path.text.hasSuffix("/relationships.json")
        {
            add("file \(path.text)", text)
        }
    }

    /// Those of the rules of an app's partitions.
    static func ofPartitions(_ app: AppDefinition) -> RuleTexts {
        var found = RuleTexts()
        guard let sync = app.sync, sync.isEnabled else { return found }
        found.add("read", ExtendedJSON.print(sync.read.source))
        found.add("write", ExtendedJSON.print(sync.write.source))
        found.add("partition type", sync.partitionType.rawValue)
        found.addSettings(of: app)
        guard !sync.read.functionNames.isEmpty || !sync.write.functionNames.isEmpty else { return found }
        found.addFunctions(of: app)
        // What functions find in collections, unless they run as the system.
        found.addDataRules(of: app)
        return found
    }

    /// Those of an app's data rules.
    static func ofDocuments(_ app: AppDefinition) -> RuleTexts {
        var found = RuleTexts()
        found.addDataRules(of: app)
        let callsFunctions = found.texts.values.contains { $0.text.contains("function\"") }
        found.addSettings(of: app)
        if callsFunctions { found.addFunctions(of: app) }
        return found
    }
}

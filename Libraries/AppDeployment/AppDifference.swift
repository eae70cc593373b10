public import AppDefinition
import DocumentModel
import DocumentSchema

/// What a deployment would change.
public struct AppDifference: Sendable {
    /// How a part of an app differs from that of the deployed version.
    public enum Kind: String, Sendable { case added, removed, changed }

    /// A file or a feature that differs.
    public struct Part: Sendable {
        /// `file`, `function`, `trigger`, …
        public let feature: String
        public let name: String
        public let kind: Kind
    }

    /// The version that is compared with; `nil` when the app isn't deployed.
    public let version: Int64?
    public let files: [Part]
    public let features: [Part]
    /// Of partitions; `nil` when the rules don't differ.
    public let access: AccessDifference?
    /// Of documents by calls; `nil` when the data rules don't differ.
    public let dataAccess: AccessDifference?
    public let impact: DeploymentImpact

    public var isEmpty: Bool { files.isEmpty && features.isEmpty }

    static func parts(
        _ feature: String, _ before: [ExactText: String], _ after: [ExactText: String]
    ) -> [Part] {
        parts(feature, before, after) { $0.hasSameBytes(as: $1) }
    }

    static func parts<Content>(
        _ feature: String, _ before: [ExactText: Content], _ after: [ExactText: Content],
        isSame: (Content, Content) -> Bool
    ) -> [Part] {
        Set(before.keys).union(after.keys).sorted().compactMap { name in
            switch (before[name], after[name]) {
            case (nil, _?): Part(feature: feature, name: name.text, kind: .added)
            case (_?, nil): Part(feature: feature, name: name.text, kind: .removed)
            case (let old?, let new?) where !isSame(old, new):
                Part(feature: feature, name: name.text, kind: .changed)
            default: nil
            }
        }
    }
}

extension AppDeployments {
    /// Compares an app with its deployed version, and evaluates what the difference means for users, documents and devices. Changes nothing.
    /// - Throws: `AppDefinitionError` when the app has errors; `DeploymentError`.
    public func difference(_ files: AppFiles) async throws -> AppDifference {
        let inspection = try await AppCheck.inspect(files, on: loop)
        guard inspection.isDeployable else { throw AppDefinitionError(problems: inspection.problems) }
        try await prepare()
        let definition = inspection.definition
        let deployed = try await registry.load(definition.id)
        let former = try await registry.lastVersion(of: definition.id)
        var old = AppFiles(), access: AccessDifference?, dataAccess: AccessDifference?
        if let deployed {
            old = try await registry.version(deployed.version, of: definition.id).files
            access = try await accessDifference(deployed.definition, definition)
            dataAccess = try await dataAccessDifference(deployed.definition, definition)
        }
        return AppDifference(
            version: deployed?.version, files: Self.fileParts(old, files),
            features: Self.featureParts(deployed?.definition, definition), access: access, dataAccess: dataAccess,
            impact: try await impact(of: definition, after: former?.definition))
    }

    private static func fileParts(_ before: AppFiles, _ after: AppFiles) -> [AppDifference.Part] {
        func texts(_ files: AppFiles) -> [ExactText: String] {
            var texts = files.texts
            texts["--app-id"] = files.choices.appId?.text
            texts["--sync-by"] = files.choices.syncBy?.text
            return texts
        }
        func packages(_ files: AppFiles) -> [ExactText: String] {
            var packages: [ExactText: String] = [:]
            for (path, text) in files.packages.texts.sorted(by: { $0.key < $1.key }) {
                let parts = path.text.split(separator: "/", maxSplits: 2)
                let name = parts.prefix(path.text.hasPrefix("@") ? 2 : 1).joined(separator: "/")
                packages[name, default: ""] += "\(path.text)\u{0}\(text)\u{0}"
            }
            return packages
        }
        return AppDifference.parts("file", texts(before), texts(after))
            + AppDifference.parts("file", before.otherFiles, after.otherFiles, isSame: ==)
            + AppDifference.parts("package", packages(before), packages(after))
    }

    private static func featureParts(_ before: AppDefinition?, _ after: AppDefinition) -> [AppDifference.Part] {
        let (old, new) = (before?.features ?? [:], after.features)
        return Set(old.keys).union(new.keys).sorted().flatMap {
            AppDifference.parts($0.text, old[$0] ?? [:], new[$0] ?? [:])
        }
    }
}

extension AppDefinition {
    /// The parts of the app by feature and name, each with a text of all that it is.
    fileprivate var features: [ExactText: [ExactText: String]] {
        var features: [ExactText: [ExactText: String]] = [:]
        func add(_ feature: String, _ name: String, _ text: String) {
            features[ExactText(feature), default: [:]][name] = text
        }
        func text(_ value: Value?) -> String { value.map { ExtendedJSON.print($0) } ?? "" }
        for function in functions {
            add(
                "function", function.name,
                "\(function.isPrivate) \(function.runsAsSystem) \(function.runAsUserId ?? "") \(text(function.canEvaluate?.source)) \(function.hidesArguments) \(function.source)"
            )
        }
        for trigger in triggers { add("trigger", trigger.name, files[trigger.file] ?? "") }
        for endpoint in httpEndpoints { add("endpoint", "\(endpoint.method) \(endpoint.route)", "\(endpoint)") }
        for provider in authProviders { add("sign-in", provider.name, "\(provider)") }
        for value in values { add("value", value.name, "\(value.isFromSecret) \(text(value.value))") }
        for collection in collections {
            let name = "\(collection.database).\(collection.name)"
            add("collection", name, "")
            if let schema = collection.schema { add("schema", name, text(.document(schema.source))) }
            if collection.rules != nil { add("data rules", name, ruleText(of: collection)) }
        }
        for source in dataSources { add("service", source.name, "\(source.type) \(text(.document(source.config)))") }
        for index in indexes {
            add("index", "\(index.name) of \(index.database).\(index.collection)", text(.document(index.specification)))
        }
        if let sync {
            add(
                "sync", "partitions",
                "\(sync.isEnabled) \(sync.database) \(sync.partitionKey) \(sync.partitionType) \(!sync.hasNullPartition)"
            )
            add("sync", "permission to read", text(sync.read.source))
            add("sync", "permission to write", text(sync.write.source))
        }
        if let userData = customUserData {
            add("user data", "\(userData.database).\(userData.collection)", "\(userData)")
        }
        if let presence { add("presence", "\(presence.database).\(presence.collection)", "\(presence)") }
        for field in media { add("media", "\(field.database).\(field.collection) \(field.field)", "\(field)") }
        if let dataAPI { add("data API", "enabled", "\(dataAPI)") }
        if let hosting { add("hosting", "enabled", "\(hosting.errorPath?.text ?? "") \(hosting.errorStatus)") }
        return features
    }
}

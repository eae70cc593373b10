import DocumentModel

/// The lines of a report about what is served of an app, for the features that it uses.
struct ServedFeatures {
    private let definition: AppDefinition
    private let hostingPlace: String

    /// - Parameter hostingPlace: where the app's hosted files are served.
    init(_ definition: AppDefinition, hostingPlace: String) {
        self.definition = definition
        self.hostingPlace = hostingPlace
    }

    var lines: [AppReport.Line] {
        let parts: [(String, String?)] = [
            ("sign-in", signIn), ("user data", userData), ("collections", collections), ("sync", sync),
            ("functions", functions), ("services", services), ("HTTPS endpoints", endpoints), ("webhooks", webhooks),
            ("triggers", triggers),
            ("values", definition.values.isEmpty ? nil : "\(definition.values.count)"),
            ("hosting", hosting),
            ("data API", definition.dataAPI.map { _ in "enabled" }),
            ("presence", definition.presence.map { "\($0.database).\($0.collection), \($0.field)" }),
            ("media", definition.media.isEmpty ? nil : "\(definition.media.count) fields"),
            ("indexes", definition.indexes.isEmpty ? nil : "\(definition.indexes.count)"),
        ]
        return parts.compactMap { feature, text in text.map { AppReport.Line(feature: feature, text: $0) } }
    }

    private var signIn: String? {
        let names = definition.authProviders
            .filter { !$0.isDisabled && UnservedFeatures.servedProviders.contains($0.type) }.map(\.name)
        return names.isEmpty ? nil : names.joined(separator: ", ")
    }

    private var userData: String? {
        definition.customUserData.map { "\($0.database).\($0.collection) by \($0.userIdField)" }
    }

    private var collections: String? {
        let all = definition.collections
        guard !all.isEmpty else { return nil }
        return
            "\(all.count), \(all.count { $0.schema != nil }) with a schema, \(all.count { $0.rules != nil }) with rules"
    }

    private var sync: String? {
        guard let sync = definition.sync else { return nil }
        guard sync.isEnabled else { return "off" }
        let count = definition.collections.count { definition.syncVerdict(of: $0) == .synced }
        let type = "\(sync.partitionType)\(sync.hasNullPartition ? " or null" : "")"
        return "\(sync.database) in partitions by \(sync.partitionKey) (\(type)), \(count) collections"
    }

    private var functions: String? {
        let others = Set(
            texts: definition.webhooks.map(\.endpoint.functionName) + definition.functions.compactMap(\.userFunction))
        let all = definition.functions.filter { !others.contains($0.name) }
        return all.isEmpty ? nil : "\(all.count), \(all.count(where: \.isPrivate)) of them private"
    }

    private var services: String? {
        let all = definition.dataSources.filter { $0.kind != nil && !$0.isDocumentStore }
        return all.isEmpty ? nil : all.map { "\($0.name) (\($0.type))" }.joined(separator: ", ")
    }

    private var hosting: String? {
        guard definition.hosting != nil else { return nil }
        let files = definition.files.otherFiles.filter { Hosting.path(ofFile: $0.key.text) != nil }
        let bytes = files.values.reduce(0) { $0 + $1.count }
        return "\(files.count) \(files.count == 1 ? "file" : "files"), \((bytes + 1023) >> 10) KiB, \(hostingPlace)"
    }

    private var endpoints: String? { count(definition.httpEndpoints) }
    private var webhooks: String? { count(definition.webhooks.map(\.endpoint)) }

    private func count(_ all: [HTTPEndpoint]) -> String? {
        guard !all.isEmpty else { return nil }
        let refused = all.count(where: \.isRefused)
        let disabled = all.count(where: \.isDisabled) - refused
        return "\(all.count - disabled - refused)" + (disabled > 0 ? ", \(disabled) disabled" : "")
            + (refused > 0 ? ", \(refused) not served" : "")
    }

    private var triggers: String? {
        let all = definition.triggers
        guard !all.isEmpty else { return nil }
        var kinds = (database: 0, authentication: 0, schedule: 0)
        for trigger in all where !trigger.isDisabled {
            switch trigger.event {
            case .database: kinds.database += 1
            case .authentication: kinds.authentication += 1
            case .schedule: kinds.schedule += 1
            }
        }
        return
            "\(kinds.database) database, \(kinds.authentication) authentication, \(kinds.schedule) scheduled, \(all.count(where: \.isDisabled)) disabled"
    }
}

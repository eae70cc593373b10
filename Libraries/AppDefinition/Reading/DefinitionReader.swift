import DocumentModel

/// Reads an app's files into a definition. It logs problems and continues.
///
/// The export format has two layouts, and folders in practice mix them: converted ones have files of both, and some have no root file at
/// all. So the folders decide: each part is read at the place where the newer layout (20210101) has it, or else where the older ones
/// (20200603, 20180301) have it.
struct DefinitionReader {
    let files: AppFiles
    let log: ProblemLog

    /// The root files, in the order in which they are used: a converted folder also has the older one, and later versions of the
    /// vendor's tool write `root_config.json`.
    static let rootFiles = ["realm_config.json", "root_config.json", "config.json", "stitch.json"]

    func read() -> AppDefinition {
        var definition = AppDefinition(files: files)
        let present = Self.rootFiles.filter { files[$0] != nil }
        let roots = present.compactMap(json)
        if present.isEmpty {
            log.add(
                .fileMissing, severity: .warning, file: Self.rootFiles[0],
                "there is no root file (realm_config.json or config.json): the rest is read without it; add the one of your export"
            )
        }
        // A root file that can't be read has been reported, and nobody knows what it says about the id.
        let isRefused = log.problems.contains { $0.severity == .error && present.containsExactly($0.file) }
        if !isRefused || !roots.isEmpty { readIdentity(roots, into: &definition) }
        if let root = roots.first { readRoot(root, into: &definition) }
        definition.authProviders = authProviders()
        definition.customUserData = customUserData(roots.first)
        definition.dataSources = dataSources()
        definition.collections = collections(of: definition.dataSources)
        definition.sync = sync(roots.first, definition)
        definition.functions = functions()
        definition.triggers = triggers() + userCreationTriggers(roots.first, definition)
        definition.values = values()
        definition.environments = environments()
        definition.httpEndpoints = httpEndpoints()
        readWebhooks(into: &definition)
        definition.dataAPI = dataAPI()
        definition.hosting = hosting(roots)
        readExtensions(into: &definition)
        reportOtherRoots(roots.dropFirst(), definition)
        return definition
    }

    /// Names what only a root file says that isn't used, beside the one that is.
    private func reportOtherRoots(_ others: ArraySlice<ConfigNode>, _ definition: AppDefinition) {
        let used = Self.rootFiles.first { files[$0] != nil } ?? ""
        for root in others {
            func warn(_ key: String) {
                root.problem(
                    .partShadowed, severity: .warning, at: key,
                    "\(used) is used, and doesn't have this: move it there, or remove one of the files")
            }
            if definition.customUserData == nil, root.value["custom_user_data_config"]?["enabled"] == true {
                warn("custom_user_data_config")
            }
            if definition.sync == nil, root.value["sync"]?["partition"] != nil { warn("sync") }
            if definition.allowedRequestOrigins.isEmpty, !root.strings("allowed_request_origins").isEmpty {
                warn("allowed_request_origins")
            }
            if let id = root.value["app_id"]?.stringValue, !id.isEmpty, !id.hasSameBytes(as: definition.id),
                files.choices.appId == nil
            {
                root.problem(
                    .partShadowed, severity: .warning, at: "app_id",
                    "\(used) is used, whose app is '\(definition.id)': remove one of the files")
            }
        }
    }

    /// Parses a file; `nil` when it doesn't exist, is `null`, or is malformed, which logs a problem.
    func json(_ file: String) -> ConfigNode? {
        log.value(file).map { ConfigNode(value: $0, file: file, pointer: "", log: log) }
    }

    private func readRoot(_ root: ConfigNode, into definition: inout AppDefinition) {
        if let version = root.child("config_version"),
            ![20_180_301, 20_200_603, 20_210_101].contains(version.value.intValue)
        {
            version.problem(
                .fieldValue, "layout \(version.value) is unknown; there are 20210101, 20200603 and 20180301")
        }
        definition.location = root.string("location") ?? definition.location
        definition.deploymentModel = root.string("deployment_model") ?? definition.deploymentModel
        definition.environmentTag = root.string("environment") ?? ""
        let key = "allowed_request_origins", security = root.child("security")
        definition.allowedRequestOrigins =
            root.child(key) != nil ? root.strings(key) : security?.strings(key) ?? []
        if root.child(key) != nil, security?.child(key) != nil, security?.strings(key) != root.strings(key) {
            security?.problem(.partShadowed, severity: .warning, at: key, "the list at the top of the file is used")
        }
    }

    /// The file or part of the root file that configures custom user data.
    func customUserDataConfig(_ root: ConfigNode?) -> (own: ConfigNode?, inline: ConfigNode?) {
        (json("auth/custom_user_data.json"), root?.child("custom_user_data_config"))
    }

    private func customUserData(_ root: ConfigNode?) -> CustomUserData? {
        let (own, inline) = customUserDataConfig(root)
        guard let node = own ?? inline else { return nil }
        if let own, let inline, inline.value != own.value {
            inline.problem(.partShadowed, severity: .warning, "\(own.file) is used: remove one of them")
        }
        let isEnabled = node.bool("enabled")
        guard isEnabled else { return nil }
        guard let database = node.required("database_name"), let collection = node.required("collection_name"),
            let field = node.required("user_id_field")
        else { return nil }
        return CustomUserData(
            isEnabled: true, service: node.string("mongo_service_name") ?? "mongodb-atlas", database: database,
            collection: collection, userIdField: field)
    }
}

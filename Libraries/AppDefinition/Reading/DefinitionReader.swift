import DocumentModel

/// Reads an app's files in either layout into a definition. It logs problems and continues.
struct DefinitionReader {
    /// The two layouts of the export format.
    enum Layout { case v20200603, v20210101 }

    let files: AppFiles
    let log: ProblemLog

    /// The root files of each layout; later versions of the vendor's tool write `root_config.json`. A folder with files of both
    /// layouts was converted; the newer one is used.
    private static let roots: [(file: String, layout: Layout)] = [
        ("realm_config.json", .v20210101), ("root_config.json", .v20210101), ("config.json", .v20200603),
        ("stitch.json", .v20200603),
    ]

    func read() -> AppDefinition {
        var definition = AppDefinition(files: files)
        guard let (file, layout) = Self.roots.first(where: { files[$0.file] != nil }) else {
            log.add(
                .fileMissing, file: "realm_config.json",
                "an app's folder must have realm_config.json or config.json at its root")
            return definition
        }
        guard let root = json(file) else { return definition }
        readRoot(root, into: &definition)
        definition.authProviders = authProviders(layout)
        definition.customUserData = customUserData(root)
        definition.dataSources = dataSources(layout)
        definition.collections = collections(layout)
        definition.sync = sync(root, layout)
        definition.functions = functions(layout)
        definition.triggers = triggers()
        definition.values = values()
        definition.environments = environments()
        definition.httpEndpoints = httpEndpoints()
        definition.dataAPI = dataAPI()
        readExtensions(into: &definition)
        return definition
    }

    /// Parses a file; `nil` when it doesn't exist, or when it is malformed, which logs a problem.
    func json(_ file: String) -> ConfigNode? {
        guard let text = files[file] else { return nil }
        do throws(ExtendedJSONError) {
            return ConfigNode(value: try ExtendedJSON.parse(text, limits: .input), file: file, pointer: "", log: log)
        } catch {
            let line = JSONPointer.line(atOffset: error.offset, in: text)
            log.add(.jsonInvalid, file: file, line: line, error.description)
            return nil
        }
    }

    private func readRoot(_ root: ConfigNode, into definition: inout AppDefinition) {
        if let version = root.child("config_version"),
            ![20_180_301, 20_200_603, 20_210_101].contains(version.value.intValue)
        {
            version.problem(.fieldValue, "layout \(version.value) is unknown; use 20210101 or 20200603")
        }
        definition.id = root.required("app_id") ?? ""
        // The id is part of URLs, Kafka keys and schema names.
        if !definition.id.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
            || definition.id.utf8.count > 48
        {
            root.problem(.fieldValue, at: "app_id", "must have at most 48 ASCII letters, digits, - and _")
        }
        definition.name = root.string("name") ?? definition.id
        definition.location = root.string("location") ?? definition.location
        definition.deploymentModel = root.string("deployment_model") ?? definition.deploymentModel
        definition.environmentTag = root.string("environment") ?? ""
        definition.allowedRequestOrigins =
            root.child("allowed_request_origins") != nil
            ? root.strings("allowed_request_origins")
            : root.child("security")?.strings("allowed_request_origins") ?? []
    }

    private func customUserData(_ root: ConfigNode) -> CustomUserData? {
        guard let node = json("auth/custom_user_data.json") ?? root.child("custom_user_data_config") else { return nil }
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

import DocumentModel

extension DefinitionReader {
    func functions(_ layout: Layout) -> [FunctionDefinition] {
        switch layout {
        case .v20210101: listedFunctions()
        case .v20200603: files.folders(in: "functions").compactMap(folderFunction)
        }
    }

    /// `functions/config.json` lists all functions; the source of `name` is `functions/name.js`.
    private func listedFunctions() -> [FunctionDefinition] {
        let nodes = json("functions/config.json")?.elements ?? []
        var functions: [FunctionDefinition] = []
        for node in nodes {
            guard let name = node.required("name") else { continue }
            let file = "functions/\(name).js"
            guard let source = files[file] else {
                node.problem(.functionSourceMissing, at: "name", "the function \(name) has no source \(file)")
                continue
            }
            functions.append(function(node, name: name, file: file, source: source))
        }
        for file in files.paths where file.hasPrefix("functions/") && file.hasSuffix(".js") {
            let name = String(file.dropFirst("functions/".count).dropLast(".js".count))
            // A converted folder still has the sources of the older layout.
            if functions.contains(where: { $0.name.hasSameBytes(as: name) }) || name.hasSuffix("/source") { continue }
            log.add(
                .functionNotConfigured, severity: .warning, file: file,
                "not listed in functions/config.json: it can't be called")
        }
        return functions
    }

    /// `functions/<name>/config.json` and `source.js`.
    private func folderFunction(_ folder: String) -> FunctionDefinition? {
        let path = "functions/\(folder)"
        guard let node = json("\(path)/config.json") else {
            if files["\(path)/config.json"] == nil, files["\(path)/source.js"] != nil {
                log.add(.fileMissing, file: "\(path)/config.json", "the function has a source but no configuration")
            }
            return nil
        }
        let name = node.string("name") ?? folder
        guard let source = files["\(path)/source.js"] else {
            node.problem(.functionSourceMissing, "the function \(name) has no source \(path)/source.js")
            return nil
        }
        return function(node, name: name, file: "\(path)/source.js", source: source)
    }

    private func function(_ node: ConfigNode, name: String, file: String, source: String) -> FunctionDefinition {
        let canEvaluate = node.child("can_evaluate").map { _ in node.rule("can_evaluate") ?? .never }
        let user = node.string("run_as_user_id") ?? ""
        return FunctionDefinition(
            name: name, file: file, source: source, isPrivate: node.bool("private"),
            runsAsSystem: node.bool("run_as_system"), runAsUserId: user.isEmpty ? nil : user,
            canEvaluate: canEvaluate, hidesArguments: node.bool("disable_arg_logs"))
    }

    /// `values/<name>.json`, in both layouts.
    func values() -> [AppValue] {
        files.files(in: "values", suffix: ".json").compactMap(json).compactMap { node in
            guard let name = node.required("name") else { return nil }
            guard case .document(let document) = node.value, let value = document["value"] else {
                node.problem(.fieldMissing, "value is missing")
                return nil
            }
            return AppValue(name: name, value: value, isFromSecret: node.bool("from_secret"))
        }
    }

    /// `environments/<name>.json`, in both layouts.
    func environments() -> [ExactText: Document] {
        var environments: [ExactText: Document] = [:]
        for file in files.files(in: "environments", suffix: ".json") {
            let name = String(file.dropFirst("environments/".count).dropLast(".json".count))
            environments[name] = json(file)?.document("values") ?? Document()
        }
        return environments
    }

    /// Some versions of the vendor's tool call the folder `https_endpoints`.
    static func endpointFile(_ files: AppFiles) -> String {
        ["http_endpoints/config.json", "https_endpoints/config.json"].first { files[$0] != nil }
            ?? "http_endpoints/config.json"
    }

    /// `http_endpoints/config.json`, in the newer layout only.
    func httpEndpoints() -> [HTTPEndpoint] {
        guard let nodes = json(Self.endpointFile(files))?.elements else { return [] }
        return nodes.compactMap { node in
            guard let route = node.required("route"), let function = node.required("function_name") else { return nil }
            return HTTPEndpoint(
                route: route, method: (node.string("http_method") ?? "*").uppercased(), functionName: function,
                validationMethod: node.string("validation_method") ?? "NO_VALIDATION",
                secretName: node.string("secret_name"), respondsWithResult: node.bool("respond_result"),
                isDisabled: node.bool("disabled"), returnType: node.string("return_type") ?? "JSON")
        }
    }

    /// `http_endpoints/data_api_config.json`: an app without this file has no data API. A restriction that isn't supported disables
    /// it.
    func dataAPI() -> DataAPI? {
        guard let node = json("http_endpoints/data_api_config.json") else { return nil }
        var isDisabled = node.bool("disabled")
        for key in ["validation_method", "verification_method"] {
            guard let method = node.string(key), !["", "NO_VALIDATION"].contains(method) else { continue }
            node.problem(
                .fieldValue, severity: .warning, at: key, "\(method) is not supported: the data API stays disabled")
            isDisabled = true
        }
        if let script = node.string("run_as_user_id_script_source"), !script.isEmpty {
            node.problem(
                .fieldValue, severity: .warning, at: "run_as_user_id_script_source",
                "a script that chooses the user is not supported: the data API stays disabled")
            isDisabled = true
        }
        if isDisabled { return nil }
        let user = node.string("run_as_user_id") ?? ""
        return DataAPI(
            canEvaluate: node.child("can_evaluate").map { _ in node.rule("can_evaluate") ?? .never },
            returnsExtendedJSON: node.string("return_type") == "EJSON", runAsUserId: user.isEmpty ? nil : user)
    }
}

import DocumentModel

extension DefinitionReader {
    /// `functions/config.json` lists the functions, with the source of `name` in `functions/<name>.js`; in older layouts each has a folder
    /// with `config.json` and `source.js`. A name may contain slashes. A source without configuration is a private function: exports
    /// have some that providers name.
    func functions() -> [FunctionDefinition] {
        let listed = listedFunctions()
        // The older form of a listed function was left by a conversion.
        let names = Set(texts: listed.map(\.name))
        let others = folderFunctions().filter { !names.contains($0.name) }
        let known = Set(texts: (listed + others).map(\.name))
        return listed + others + looseFunctions().filter { !known.contains($0.name) }.filter(isUsable)
    }

    private func listedFunctions() -> [FunctionDefinition] {
        (json("functions/config.json")?.elements ?? []).flatMap { node -> [FunctionDefinition] in
            guard let name = node.required("name") else { return [] }
            let places = ["functions/\(name).js", "functions/\(name)/source.js"]
            guard let file = places.first(where: { files[$0] != nil }), let source = files[file] else {
                return [sourceless(node, name: name, at: "name", places[0])]
            }
            return withUserFunction(function(node, name: name, file: file, source: source), node)
        }
    }

    /// `functions/<name>/config.json` and `source.js`. With a list of functions, those that it lacks are private.
    private func folderFunctions() -> [FunctionDefinition] {
        let isListing = files["functions/config.json"] != nil
        return files.paths.flatMap { path -> [FunctionDefinition] in
            guard path.startsWithBytes(of: "functions/"), path.hasSuffix("/config.json") else { return [] }
            let folder = String(path.dropLast("/config.json".count))
            guard !folder.hasSameBytes(as: "functions"), let node = json(path) else { return [] }
            let name = node.string("name") ?? String(folder.dropFirst("functions/".count))
            guard let source = files["\(folder)/source.js"] else {
                // Other tools keep a config.json of their own there.
                return isListing ? [] : [sourceless(node, name: name, at: nil, "\(folder)/source.js")]
            }
            var function = function(node, name: name, file: "\(folder)/source.js", source: source)
            if isListing { reportUnlisted(name, node) }
            if isListing, files["functions/\(name).js"] == nil {
                function.isListed = false
                function.isPrivate = true
            }
            return withUserFunction(function, node)
        }
    }

    /// Reports the older form of a function beside a list of functions, which alone counts: what a conversion has left must not open a
    /// function to clients.
    private func reportUnlisted(_ name: String, _ node: ConfigNode) {
        let key = "private"
        let entries = log.value("functions/config.json")?.arrayValue ?? []
        let entry = entries.first { $0["name"]?.stringValue?.hasSameBytes(as: name) == true }
        let saysPublic = node.child(key)?.value == false
        if let entry {
            let isOpen = saysPublic && entry[key] == true
            node.problem(
                .partShadowed, severity: .warning, at: isOpen ? key : nil,
                isOpen
                    ? "\"private\": false of \(name) isn't used, and clients can't call it: functions/config.json says \"private\": true; remove this file, or write it there"
                    : "its settings aren't used: functions/config.json has those of \(name); remove this file")
        } else {
            node.problem(
                .functionNotConfigured, severity: .warning, at: saysPublic ? key : nil,
                saysPublic
                    ? "\"private\": false of \(name) isn't used, and clients can't call it: functions/config.json, which doesn't list \(name), alone says what they can call; list it there"
                    : "\(name) isn't listed in functions/config.json: it is private, so that clients can't call it; list it there"
            )
        }
    }

    /// The sources that no configuration names.
    private func looseFunctions() -> [FunctionDefinition] {
        files.paths.compactMap { file in
            guard file.startsWithBytes(of: "functions/"), file.hasSuffix(".js"), let source = files[file] else {
                return nil
            }
            var name = String(file.dropFirst("functions/".count).dropLast(".js".count))
            if name.hasSuffix("/source") {
                name = String(name.dropLast("/source".count))
                // What is wrong with its configuration has been reported.
                if files["functions/\(name)/config.json"] != nil { return nil }
            }
            return FunctionDefinition(
                name: name, file: file, source: source, isPrivate: true, runsAsSystem: false, runAsUserId: nil,
                canEvaluate: nil, hidesArguments: false, isListed: false)
        }
    }

    /// Reports a source that no configuration names, and says whether it is a function at all.
    private func isUsable(_ function: FunctionDefinition) -> Bool {
        let isFunction = FunctionSource.assignsExports(function.source)
        log.add(
            .functionNotConfigured, severity: .warning, file: function.file,
            isFunction
                ? "not listed in functions/config.json: it is private, so that clients can't call it; list it there"
                : "not listed in functions/config.json, and assigns nothing to exports: it is ignored")
        return isFunction
    }

    /// A function that is declared without a source. Exports have such ones, which failed on Atlas when they were called.
    private func sourceless(_ node: ConfigNode, name: String, at key: String?, _ file: String) -> FunctionDefinition {
        node.problem(
            .functionSourceMissing, severity: .warning, at: key,
            "the function \(name) has no source \(file): each call of it fails; add the file, or remove the function")
        let message = ExtendedJSON.print(.string("the function \(name) has no source in the app's folder (\(file))"))
        return function(
            node, name: name, file: node.file, source: "exports = function () { throw new Error(\(message)); };\n")
    }

    private func function(_ node: ConfigNode, name: String, file: String, source: String) -> FunctionDefinition {
        let canEvaluate = node.child("can_evaluate").map { _ in node.rule("can_evaluate") ?? .never }
        let user = node.string("run_as_user_id") ?? ""
        return FunctionDefinition(
            name: name, file: file, settingsFile: node.file, source: source, isPrivate: node.bool("private"),
            runsAsSystem: node.bool("run_as_system"), runAsUserId: user.isEmpty ? nil : user,
            canEvaluate: canEvaluate, hidesArguments: node.bool("disable_arg_logs"), isListed: true)
    }

    /// A function with the one that `run_as_user_id_script_source` is the source of.
    func withUserFunction(_ function: FunctionDefinition, _ node: ConfigNode) -> [FunctionDefinition] {
        let key = "run_as_user_id_script_source"
        guard let script = node.string(key), !script.isEmpty else { return [function] }
        var function = function
        let name = "\(function.name)/\(key)"
        function.userFunction = name
        let user = FunctionDefinition(
            name: name, file: node.file, source: script, isPrivate: true, runsAsSystem: true, runAsUserId: nil,
            canEvaluate: nil, hidesArguments: function.hidesArguments, isListed: function.isListed)
        return [function, user]
    }

    /// `values/<name>.json`, in both layouts.
    func values() -> [AppValue] {
        files.files(in: "values", suffix: ".json").compactMap(json).compactMap { node in
            guard let name = node.required("name") else { return nil }
            guard case .document(let document) = node.value, let value = document["value"] else {
                node.problem(.fieldMissing, "value is missing: add it")
                return nil
            }
            let isFromSecret = node.bool("from_secret")
            if isFromSecret, value.stringValue == nil {
                node.problem(
                    .fieldValue, severity: .warning, at: "value",
                    "not the name of a secret, so that the value is never there: write the name, or set from_secret to false"
                )
            }
            return AppValue(name: name, value: value, isFromSecret: isFromSecret)
        }
    }

    /// `environments/<name>.json`, in both layouts.
    func environments() -> [ExactText: Document] {
        var environments: [ExactText: Document] = [:]
        for file in files.files(in: "environments", suffix: ".json") {
            let name = String(file.dropFirst("environments/".count).dropLast(".json".count))
            let node = json(file)
            if let fields = node?.value.documentValue?.fields, !fields.isEmpty, node?.child("values") == nil {
                node?.problem(
                    .fieldMissing, severity: .warning, "it has no values: write them into an object \"values\"")
            }
            environments[name] = node?.document("values") ?? Document()
        }
        return environments
    }

    /// Where the settings of the data API are; the first one that is there counts.
    static let dataAPIFiles = ["http_endpoints/data_api_config.json", "https_endpoints/data_api_config.json"]

    /// `http_endpoints/data_api_config.json`: an app without this file has no data API. A restriction that isn't supported disables
    /// it.
    func dataAPI() -> DataAPI? {
        guard let node = Self.dataAPIFiles.lazy.compactMap(json).first else { return nil }
        var isDisabled = node.bool("disabled")
        for key in ["validation_method", "verification_method"] {
            guard let method = node.string(key), !["", "NO_VALIDATION"].contains(method) else { continue }
            node.problem(
                .fieldValue, severity: .warning, at: key,
                "\(method) is not supported, so that the data API stays disabled: write NO_VALIDATION, and have its callers sign in"
            )
            isDisabled = true
        }
        if let script = node.string("run_as_user_id_script_source"), !script.isEmpty {
            node.problem(
                .fieldValue, severity: .warning, at: "run_as_user_id_script_source",
                "a script that chooses the user is not supported, so that the data API stays disabled: remove it, or write HTTPS endpoints"
            )
            isDisabled = true
        }
        if isDisabled { return nil }
        for (key, effect) in [
            (
                "run_as_system",
                "calls of the data API run as their caller, under the rules: a function can run as the system"
            ),
            (
                "create_user_on_auth",
                "the data API creates no users: its caller signs in first, and sends the access token"
            ),
        ] where node.bool(key) {
            node.problem(.featureNotServed, severity: .warning, at: key, effect)
        }
        let user = node.string("run_as_user_id") ?? ""
        if !user.isEmpty {
            node.problem(
                .fieldValue, severity: .warning, at: "run_as_user_id",
                "callers of the data API sign in all the same, and act as this user then: HTTPS endpoints need no sign-in"
            )
        }
        return DataAPI(
            canEvaluate: node.child("can_evaluate").map { _ in node.rule("can_evaluate") ?? .never },
            returnsExtendedJSON: returnsExtendedJSON(node), runAsUserId: user.isEmpty ? nil : user)
    }
}

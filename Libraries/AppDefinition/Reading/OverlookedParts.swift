import DocumentModel

/// Warns of parts of an export that nothing reads, because they are at places or under names that the reader doesn't know: each by its file,
/// so that nobody believes that they work.
struct OverlookedParts {
    private let definition: AppDefinition
    private let log: ProblemLog
    private var files: AppFiles { definition.files }
    /// All paths, those that are only kept too.
    private let paths: [String]

    init(_ definition: AppDefinition, log: ProblemLog) {
        self.definition = definition
        self.log = log
        paths = Set(definition.files.texts.keys).union(definition.files.otherFiles.keys).sorted().map(\.text)
    }

    func report() {
        reportAccessLists()
        reportEncryption()
        reportHostedFiles()
        reportEnvironments()
        reportSources()
        reportVariables()
    }

    /// Names of lists of addresses from which requests were accepted.
    private static let accessLists: Set<ExactText> = [
        "access_list", "access_lists", "allowed_ips", "allowed_ip_addresses", "ip_access_list", "ip_access_lists",
        "ip_whitelist", "accessList", "ipAccessList",
    ]

    private func reportAccessLists() {
        let advice = "IP access lists aren't applied: every address may call; restrict addresses in the proxy in front"
        for path in paths {
            let parts = path.splitAtBytes("/")
            let name = parts.last.map { $0.hasSuffix(".json") ? String($0.dropLast(5)) : $0 } ?? ""
            if (parts.dropLast() + [name]).contains(where: { Self.accessLists.contains(ExactText($0)) }) {
                warn(path, advice)
            }
        }
        for file in DefinitionReader.rootFiles {
            guard let root = log.value(file, severity: .warning) else { continue }
            for (value, pointer) in [(root, ""), (root["security"] ?? .null, "/security")] {
                for field in value.documentValue?.fields ?? []
                where Self.accessLists.contains(ExactText(field.key)) && !field.value.isBlank {
                    warn(file, pointer: "\(pointer)/\(JSONPointer.escape(field.key))", advice)
                }
            }
        }
    }

    private func reportEncryption() {
        let key = "field_encryption"
        let advice = "fields aren't encrypted by the server: encrypt them in the app, or the volume of Postgres"
        for path in paths where path.hasSuffix("/\(key).json") { warn(path, advice) }
        for path in files.paths
        where ["/config.json", "/rules.json"].contains(where: path.hasSuffix)
            && (path.hasPrefix("data_sources/") || path.hasPrefix("services/"))
            || DefinitionReader.rootFiles.containsExactly(path)
        {
            guard let value = log.value(path, severity: .warning) else { continue }
            for (part, pointer) in [(value, ""), (value["config"] ?? .null, "/config")] {
                guard let settings = part[key], !settings.isBlank else { continue }
                warn(path, pointer: "\(pointer)/\(key)", advice)
            }
        }
    }

    /// Hosted files that no configuration mentions. One that turns hosting off is meant.
    private func reportHostedFiles() {
        guard files["hosting/config.json"] == nil, let first = paths.first(where: { $0.hasPrefix(Hosting.folder) }),
            !DefinitionReader.rootFiles.contains(where: { log.value($0, severity: .warning)?["hosting"] != nil })
        else { return }
        warn(
            first,
            "hosting isn't enabled, so that no file is served: write {\"enabled\": true} into hosting/config.json")
    }

    private func reportEnvironments() {
        var folders: Set<ExactText> = []
        for path in paths where path.hasPrefix("environments/") {
            let parts = path.splitAtBytes("/")
            if parts.count > 2, folders.insert(ExactText(parts[1])).inserted {
                warn(
                    path,
                    "the folder environments/\(parts[1]) isn't read: the values of an environment are in environments/\(parts[1]).json"
                )
            } else if parts.count == 2, !path.hasSuffix(".json"), !parts[1].hasPrefix(".") {
                warn(path, "this file isn't read: the values of an environment are in environments/<name>.json")
            }
        }
    }

    private func reportSources() {
        for path in paths where path.hasPrefix("functions/") && !path.hasPrefix(PackageCollector.folder + "/") {
            guard let ending = [".ts", ".tsx", ".mjs", ".cjs", ".jsx", ".coffee"].first(where: path.hasSuffix),
                !path.hasSuffix(".d.ts")
            else { continue }
            warn(
                path,
                "this source isn't read: functions are files that end in .js, and assign to exports; "
                    + (ending == ".mjs" || ending == ".cjs" ? "rename it" : "compile it, and export the result"))
        }
    }

    /// Files of variables, which usually have secrets. Of a folder or an archive they aren't taken; a former version may have them.
    private func reportVariables() {
        for path in paths
        where path.splitAtBytes("/").last?.startsWithBytes(of: ".env") == true
            && !path.startsWithBytes(of: PackageCollector.folder + "/")
        {
            log.add(
                .secretInClear, severity: .warning, file: path,
                "nothing reads this file, and the app's history and its exports have it, where it may show secrets: remove it, and use `partita secret set`"
            )
        }
    }

    private func warn(_ file: String, pointer: String = "", _ message: String) {
        log.add(.featureNotServed, severity: .warning, file: file, pointer: pointer, message)
    }
}

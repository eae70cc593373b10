import DocumentModel

/// The packages that functions require or that `package.json` lists. Warns of those that the export doesn't have.
struct PackageUses {
    let definition: AppDefinition
    let log: ProblemLog

    private static let list = "functions/package.json"

    /// The packages that the app names and doesn't have, sorted.
    static func missing(_ definition: AppDefinition) -> [String] {
        // What is wrong with the list is reported where problems are.
        let listed = definition.files[list].flatMap { try? ExtendedJSON.parse($0, limits: .input) }
        let packages = definition.files.packages.names
        var names = Set(texts: missing(ofList: listed, packages))
        for function in definition.functions {
            for (name, _) in FunctionSource.requiredPackages(function.source) {
                if let package = missingPackage(of: name, packages) { names.insert(package) }
            }
        }
        return names.sortedTexts
    }

    func report() {
        let packages = definition.files.packages.names
        let missing = Self.missing(ofList: log.value(Self.list, severity: .warning), packages)
        if !missing.isEmpty {
            warn(
                Self.list, pointer: "/dependencies",
                "these packages aren't in the export (\(missing.joined(separator: ", "))): run `npm install --omit=dev` in functions/, or put node_modules.zip, .tar or .tar.gz there, or name a node_modules folder that has them with --packages, and deploy again"
            )
        }
        for function in definition.functions {
            for (name, line) in FunctionSource.requiredPackages(function.source) {
                report(name, at: line, of: function, packages)
            }
        }
    }

    private func report(_ name: String, at line: Int, of function: FunctionDefinition, _ packages: Set<ExactText>) {
        if NodeModules.refused.contains(NodeModules.plainName(name)) {
            return warn(
                function.file, line: function.line(line),
                "require(\"\(name)\") gives a module whose use throws: functions have no files, sockets or processes; leave out what needs them"
            )
        }
        guard let package = Self.missingPackage(of: name, packages) else { return }
        warn(
            function.file, line: function.line(line),
            "require(\"\(name)\") fails, since the package \(package) isn't in the export: run `npm install \(package)` in functions/, or name a node_modules folder that has it with --packages, and deploy again"
        )
    }

    /// The package of a required name, if the app doesn't have it; `nil` for what needs none.
    private static func missingPackage(of name: String, _ packages: Set<ExactText>) -> String? {
        let plain = NodeModules.plainName(name)
        if NodeModules.served.contains(plain) || NodeModules.refused.contains(plain) { return nil }
        let package = NodeModules.package(of: name)
        return package.startsWithBytes(of: ".") || packages.contains(package) ? nil : package
    }

    private static func missing(ofList list: Value?, _ packages: Set<ExactText>) -> [String] {
        PackageNeeds.names(list?["dependencies"]).filter { !packages.contains($0) }.sorted()
    }

    private func warn(_ file: String, pointer: String = "", line: Int? = nil, _ message: String) {
        log.add(.featureNotServed, severity: .warning, file: file, pointer: pointer, line: line, message)
    }
}

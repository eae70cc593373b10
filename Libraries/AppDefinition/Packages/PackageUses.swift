import DocumentModel

/// Warns of packages that functions require, or that `package.json` lists, and that the export doesn't have.
struct PackageUses {
    let definition: AppDefinition
    let log: ProblemLog

    func report() {
        let packages = definition.files.packages
        let file = "functions/package.json"
        let listed = definition.files[file].flatMap { try? ExtendedJSON.parse($0, limits: .input) }
        let missing = (listed?["dependencies"]?.documentValue?.fields ?? []).map(\.key).filter {
            !packages.contains($0)
        }
        if !missing.isEmpty {
            warn(
                file, pointer: "/dependencies",
                "these packages aren't in the export (\(missing.sorted().joined(separator: ", "))): run `npm install --omit=dev` in functions/, or put node_modules.zip, .tar or .tar.gz there, and deploy again"
            )
        }
        for function in definition.functions {
            for name in FunctionSource.requiredPackages(function.source) {
                report(name, of: function, packages)
            }
        }
    }

    private func report(_ name: String, of function: FunctionDefinition, _ packages: AppPackages) {
        let plain = NodeModules.plainName(name)
        if NodeModules.served.contains(plain) { return }
        if NodeModules.refused.contains(plain) {
            return warn(
                function.file,
                "require(\"\(name)\") gives a module whose use throws: functions have no files, sockets or processes")
        }
        let package = NodeModules.package(of: name)
        guard !package.startsWithBytes(of: "."), !packages.contains(package) else { return }
        warn(
            function.file,
            "require(\"\(name)\") fails, since the package \(package) isn't in the export: run `npm install \(package)` in functions/, and deploy again"
        )
    }

    private func warn(_ file: String, pointer: String = "", _ message: String) {
        log.add(.featureNotServed, severity: .warning, file: file, pointer: pointer, message)
    }
}

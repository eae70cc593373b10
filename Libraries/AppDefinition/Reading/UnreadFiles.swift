import DocumentModel

/// Warns of files at an app's places that nothing has read: in a folder that is one too deep, with an ending in capital letters, under a name
/// that the format doesn't have.
struct UnreadFiles {
    let definition: AppDefinition
    let log: ProblemLog
    /// The files that were read for the definition.
    let read: Set<ExactText>

    /// Folders whose files are reported in another way, or have other files, too: settings of packages and editors are among functions.
    private static let others = ["functions/", "graphql/", "log_forwarders/", "push/"]
    /// The folders in which names end in `.json` or `.js`.
    private static let folders = [
        "auth/", "auth_providers/", "data_sources/", "functions/", "http_endpoints/", "https_endpoints/", "services/",
        "sync/", "triggers/", "values/",
    ]

    func report() {
        let known = read.union(definition.functions.map { ExactText($0.file) })
            .union(log.problems.map { ExactText($0.file) })
        for file in definition.files.paths where !known.contains(file) && isExpected(file) {
            warn(
                file, "nothing reads this file, since the format has none of this name there: check its folder and name"
            )
        }
        for file in definition.files.otherFiles.keys.sorted().map(\.text)
        where Self.folders.contains(where: file.startsWithBytes(of:)) && hasCapitalEnding(file) && !known.contains(file)
        {
            warn(file, "nothing reads this file, since its name ends in capital letters: write .json or .js")
        }
    }

    private func isExpected(_ file: String) -> Bool {
        file.utf8.contains(UInt8(ascii: "/")) && !Self.others.contains(where: file.startsWithBytes(of:))
            && !file.startsWithBytes(of: ".mdb/") && !file.hasSuffix(".bck.json")
    }

    private func hasCapitalEnding(_ file: String) -> Bool {
        let ending = file.splitAtBytes(".").last ?? ""
        return ["json", "js"].contains(ending.lowercased())
    }

    private func warn(_ file: String, _ message: String) {
        log.add(.featureNotServed, severity: .warning, file: file, message)
    }
}

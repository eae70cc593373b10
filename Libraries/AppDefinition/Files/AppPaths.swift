import DocumentModel

/// Which paths of a folder belong to an app. An app's folder is often the root of a repository, whose other files are passed over.
enum AppPaths {
    private static let rootFiles: Set<ExactText> = [
        "realm_config.json", "root_config.json", "config.json", "stitch.json", "partita.json", "secrets.json",
        ".mdb/meta.json", "hosting/config.json", "hosting/metadata.json",
    ]
    private static let folders: Set<ExactText> = [
        "auth", "auth_providers", "data_sources", "services", "sync", "functions", "triggers", "values", "environments",
        "http_endpoints", "https_endpoints", "graphql", "log_forwarders", "push",
    ]
    /// Folders of which only some of `rootFiles` are read.
    private static let listedFolders: Set<ExactText> = [".mdb", "hosting", "security", "ip_access_list", "access_list"]
    /// The name of folders of installed packages.
    private static let packages = "node_modules"
    /// Folders inside the app's own that are never read.
    private static let skipped: Set<ExactText> = [ExactText(packages), ".git", ".idea", ".vscode"]

    /// Whether a path leads to a place inside of the folder that it is joined to: none of its parts is empty, `.` or `..`.
    static func isPlain(_ path: some StringProtocol) -> Bool {
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty && !part.elementsEqual(".".utf8) && !part.elementsEqual("..".utf8)
        }
    }

    private static func components(_ path: String) -> [String] { path.splitAtBytes("/") }

    /// Whether a file is part of an app: a `.json` or `.js` file at a place where the format has them.
    static func isRead(_ path: String) -> Bool {
        if rootFiles.contains(path) { return true }
        let parts = components(path)
        guard parts.count > 1, let first = parts.first, folders.contains(first) else { return false }
        return (path.hasSuffix(".json") || path.hasSuffix(".js")) && !parts.contains { skipped.contains($0) }
    }

    /// Whether a file is kept with the app although nothing reads it: the format has a folder for it.
    static func isKept(_ path: String) -> Bool { components(path).count > 1 && isEntered(path) }

    /// The folder of the format that a file's folder at the root seems to be meant for: its name has other capitals, which some file
    /// systems don't tell apart. `nil` for other folders, and for files that no app has.
    static func meantFolder(of path: String) -> String? {
        let parts = components(path)
        guard parts.count > 1, path.hasSuffix(".json") || path.hasSuffix(".js"), let first = parts.first else {
            return nil
        }
        let name = first.lowercased()
        guard folders.contains(name), !name.hasSameBytes(as: first) else { return nil }
        return parts.contains { skipped.contains($0) } ? nil : name
    }

    /// Whether a folder can have files of an app.
    static func isEntered(_ path: String) -> Bool {
        let parts = components(path)
        guard let first = parts.first else { return false }
        let isHosted = isHosted(parts[...])
        return (folders.contains(first) || listedFolders.contains(first))
            && !parts.contains { skipped.contains($0) && !(isHosted && $0.hasSameBytes(as: packages)) }
    }

    /// Whether the parts of a path lead to a hosted file or folder. Pages may use what is in a folder of packages.
    private static func isHosted(_ parts: ArraySlice<String>) -> Bool {
        parts.count > 2 && parts.prefix(2).joined(separator: "/").hasSameBytes(as: "hosting/files")
    }

    /// Whether a path in an archive is that of an installed package, and not of a hosted file.
    static func isPackage(_ parts: [String]) -> Bool {
        guard let index = parts.firstIndex(where: { $0.hasSameBytes(as: packages) }) else { return false }
        return !parts[..<index].indices.contains { isHosted(parts[$0...]) }
    }

    /// The folder of the app that a path in an archive shows, with a `/` at its end: by a root file that only apps have (`isSure`), or
    /// else by one of an app's folders or a `config.json`. `nil` for a path that shows nothing.
    static func root(shownBy path: String) -> (folder: String, isSure: Bool)? {
        let parts = components(path)
        func folder(_ count: Int) -> String { parts.prefix(count).map { $0 + "/" }.joined() }
        guard let name = parts.last else { return nil }
        if ["realm_config.json", "root_config.json", "stitch.json"].containsExactly(name) {
            return (folder(parts.count - 1), true)
        }
        if let index = parts.dropLast().firstIndex(where: { folders.contains($0) }) { return (folder(index), false) }
        return name.hasSameBytes(as: "config.json") ? (folder(parts.count - 1), false) : nil
    }
}

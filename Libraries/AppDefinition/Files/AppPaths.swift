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

    /// The parts of a path inside the app's folder.
    typealias Parts = ArraySlice<String>

    /// Whether a path leads to a place inside of the folder that it is joined to: none of its parts is empty, `.` or `..`.
    static func isPlain(_ path: some StringProtocol) -> Bool {
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty && !part.elementsEqual(".".utf8) && !part.elementsEqual("..".utf8)
        }
    }

    private static func components(_ path: String) -> Parts { path.splitAtBytes("/")[...] }

    /// Whether a file is part of an app: a `.json` or `.js` file at a place where the format has them.
    static func isRead(_ path: String) -> Bool { isRead(components(path)) }

    static func isRead(_ parts: Parts) -> Bool {
        if parts.count <= 2, rootFiles.contains(parts.joined(separator: "/")) { return true }
        guard parts.count > 1, let first = parts.first, folders.contains(first) else { return false }
        return isText(parts) && !parts.contains { skipped.contains($0) }
    }

    /// Whether the file's name has an ending of the files that are read.
    private static func isText(_ parts: Parts) -> Bool {
        guard let name = parts.last else { return false }
        return name.hasSuffix(".json") || name.hasSuffix(".js")
    }

    /// Whether a file is kept with the app although nothing reads it: the format has a folder for it.
    static func isKept(_ path: String) -> Bool { isKept(components(path)) }

    static func isKept(_ parts: Parts) -> Bool { parts.count > 1 && isEntered(parts) }

    /// Whether a file at an app's place usually has secrets: what the older tool wrote, and variables (`.env`, `.env.local`).
    static func hasSecrets(_ path: String) -> Bool {
        path.hasSameBytes(as: "secrets.json") || components(path).last?.startsWithBytes(of: ".env") == true
    }

    /// The folder of the format that a file's folder at the root seems to be meant for: its name has other capitals, which some file
    /// systems don't tell apart. `nil` for other folders, and for files that no app has.
    static func meantFolder(of path: String) -> String? { meantFolder(of: components(path)) }

    static func meantFolder(of parts: Parts) -> String? {
        guard parts.count > 1, isText(parts), let first = parts.first else { return nil }
        let name = first.lowercased()
        guard folders.contains(name), !name.hasSameBytes(as: first) else { return nil }
        return parts.contains { skipped.contains($0) } ? nil : name
    }

    /// Whether a folder can have files of an app.
    static func isEntered(_ path: String) -> Bool { isEntered(components(path)) }

    private static func isEntered(_ parts: Parts) -> Bool {
        guard let first = parts.first, folders.contains(first) || listedFolders.contains(first) else { return false }
        let isHosted = isHosted(parts)
        return !parts.contains { skipped.contains($0) && !(isHosted && $0.hasSameBytes(as: packages)) }
    }

    /// The ends of a path in an archive that may be an app's own paths: those after the last of the folders that no app has, and of an
    /// installed package none but the hosted ones. Without the others, each end is found out about in a few comparisons.
    static func ends(of path: String) -> [Parts] {
        let parts = components(path)
        guard !isPackage(parts) else { return [] }
        let barred = parts.lastIndex { skipped.contains($0) && !$0.hasSameBytes(as: packages) }.map { $0 + 1 } ?? 0
        let package = parts.lastIndex { $0.hasSameBytes(as: packages) } ?? -1
        return parts.indices[barred...].filter { $0 > package || isHosted(parts[$0...]) }.map { parts[$0...] }
    }

    /// Whether the parts of a path lead to a hosted file or folder. Pages may use what is in a folder of packages.
    private static func isHosted(_ parts: Parts) -> Bool {
        guard parts.count > 2, let first = parts.first else { return false }
        return first.hasSameBytes(as: "hosting") && parts[parts.startIndex + 1].hasSameBytes(as: "files")
    }

    /// Whether a path in an archive is that of an installed package, and not of a hosted file.
    private static func isPackage(_ parts: Parts) -> Bool {
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

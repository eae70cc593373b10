import DocumentModel

extension AppFiles {
    /// A file of an unpacked archive.
    public struct ArchivedFile: Sendable {
        /// The path inside the archive, with `/` between components.
        @ExactText public var path: String
        public var bytes: [UInt8]

        public init(path: String, bytes: [UInt8]) {
            self.path = path
            self.bytes = bytes
        }
    }

    /// Whether an archive's entry may be a file of an app, whatever folder of the archive the app is in.
    public static func mayRead(archived path: String) -> Bool { ends(of: path).contains(where: AppPaths.isRead) }

    /// Whether an archive's entry may be an archive of packages, of which only the name counts.
    public static func mayBePackages(archived path: String) -> Bool {
        ends(of: path).contains { AppPaths.packageArchives.containsExactly($0) }
    }

    /// The path as each folder of it sees it; none for a path of installed packages.
    private static func ends(of path: String) -> [String] {
        // No app has a path of this length, and each of its components costs a comparison.
        guard path.utf8.count <= 1024 else { return [] }
        let parts = path.splitAtBytes("/")
        guard !parts.containsExactly("node_modules") else { return [] }
        return parts.indices.map { parts[$0...].joined(separator: "/") }
    }

    /// Reads an app from the files of an archive. Archives are often made of a folder, or of a repository that has the app in one: the
    /// app's folder is the one highest in the archive that has the app's root file.
    ///
    /// - Parameter name: the archive's name, for messages.
    /// - Throws: as `init(folder:)`; a path that leads out of the archive is refused as `file-unreadable`.
    public init(archived files: [ArchivedFile], name: String) throws(AppDefinitionError) {
        let outside = files.filter { file in
            file.path.startsWithBytes(of: "/") || file.path.splitAtBytes("/").containsExactly("..")
        }
        guard outside.isEmpty else {
            throw AppDefinitionError(
                problems: outside.map {
                    DefinitionProblem(
                        .fileUnreadable, file: $0.path, "the path leads out of the archive: make the archive again")
                })
        }
        func plain(_ path: String) -> String { path.startsWithBytes(of: "./") ? String(path.dropFirst(2)) : path }
        let shown = files.compactMap { AppPaths.root(shownBy: plain($0.path)) }
        let sure = shown.filter(\.isSure)
        let root = (sure.isEmpty ? shown : sure).map(\.folder)
            .min { ($0.utf8.count, ExactText($0)) < ($1.utf8.count, ExactText($1)) }
        guard let root else {
            throw AppDefinitionError(
                code: .appNotFound,
                message: "\(name) has no app: an export has realm_config.json or config.json at its root")
        }
        var collector = AppFileCollector()
        for file in files {
            let path = plain(file.path)
            guard path.startsWithBytes(of: root) else { continue }
            collector.add(String(decoding: path.utf8.dropFirst(root.utf8.count), as: UTF8.self), size: file.bytes.count)
            { file.bytes }
        }
        self = try collector.files()
    }
}

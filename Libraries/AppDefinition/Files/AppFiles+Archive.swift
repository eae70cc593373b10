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

    /// Whether an archive's entry may be a file of an app, or one that is kept with it; or, with a `/` at the path's end, a folder that
    /// has such files or the app's packages.
    public static func mayKeep(archived path: String) -> Bool {
        ("/" + path).hasSuffix("/\(PackageCollector.folder)/")
            || ends(of: path).contains {
                AppPaths.isRead($0) || AppPaths.isKept($0) || AppPaths.meantFolder(of: $0) != nil
            }
    }

    /// Whether an archive's entry has a path that isn't that of a place in the archive: it is absolute, or one of its parts is empty, `.` or
    /// `..`. A `./` at the beginning, as tar writes it, and a `/` at the end of a folder are no parts.
    public static func isAstray(archived path: String) -> Bool {
        let path = plain(path)
        let end = path.utf8.last == UInt8(ascii: "/") ? path.utf8.dropLast() : path.utf8[...]
        return !AppPaths.isPlain(Substring(end))
    }

    /// Whether a path leads to a place inside of the folder that it is joined to. Only such files may be written, whoever has stored them.
    public static func isPlain(path: String) -> Bool { AppPaths.isPlain(path) }

    /// The most bytes of a path in an archive, and the most of its parts, since each of them costs comparisons.
    private static let pathLimit = 1024
    private static let partLimit = 64

    /// Whether an archive's entry has a path that is too long to be looked at.
    public static func isTooLong(archived path: String) -> Bool {
        path.utf8.count > pathLimit || path.utf8.count { $0 == UInt8(ascii: "/") } >= partLimit
    }

    /// The path as folders of it that may be the app's see it; none for a path of installed packages, or one that is too long.
    private static func ends(of path: String) -> [AppPaths.Parts] {
        isTooLong(archived: path) ? [] : AppPaths.ends(of: path)
    }

    /// The folder of the app in an archive, with a `/` at its end. Archives are often made of a folder, or of a repository that has the
    /// app in one: the app's folder is the one highest in the archive that has the app's root file.
    ///
    /// - Parameters:
    ///   - files: the paths of the archive's files for which `mayRead(archived:)` or `isAstray(archived:)` is true.
    ///   - name: the archive's name, for messages.
    /// - Throws: `AppDefinitionError`: there is no app, or a path isn't that of a place in the archive.
    public static func root(inArchive files: [String], name: String) throws(AppDefinitionError) -> String {
        try refuse(astray: files.filter(isAstray(archived:)))
        let shown = files.compactMap { AppPaths.root(shownBy: plain($0)) }
        let sure = shown.filter(\.isSure)
        let root = (sure.isEmpty ? shown : sure).map(\.folder)
            .min { ($0.utf8.count, ExactText($0)) < ($1.utf8.count, ExactText($1)) }
        guard let root else {
            throw AppDefinitionError(
                code: .appNotFound,
                message: "\(name) has no app: an export has realm_config.json or config.json at its root")
        }
        return root
    }

    /// The most paths that one refusal names.
    private static let namedLimit = 20

    private static func refuse(astray paths: [String]) throws(AppDefinitionError) {
        guard !paths.isEmpty else { return }
        throw AppDefinitionError(
            problems: paths.prefix(namedLimit).map {
                DefinitionProblem(
                    .fileUnreadable, file: $0,
                    "the path has an empty part, `.` or `..`, and may lead out of the archive: make the archive again")
            })
    }

    private static func plain(_ path: String) -> String {
        path.startsWithBytes(of: "./") ? String(decoding: path.utf8.dropFirst(2), as: UTF8.self) : path
    }

    /// The path inside the app's folder; `nil` for a path outside of it.
    ///
    /// - Parameter root: as `root(inArchive:name:)` returns it.
    public static func path(_ path: String, inside root: String) -> String? {
        let path = plain(path)
        guard path.startsWithBytes(of: root) else { return nil }
        return String(decoding: path.utf8.dropFirst(root.utf8.count), as: UTF8.self)
    }

    /// Reads an app from the files of an archive. Its links aren't followed.
    ///
    /// - Parameters:
    ///   - links: the archive's links, with their targets.
    ///   - malformed: paths of the archive that aren't UTF-8: as people see them, and with the bytes that are no text replaced.
    ///   - long: paths of the archive that are too long to be looked at.
    ///   - special: paths of the archive's pipes and devices.
    ///   - large: paths of files that weren't read, since they have more than `Hosting.fileLimit` bytes.
    ///   - root: the app's folder, as `root(inArchive:name:)` returns it.
    /// - Throws: as `init(folder:)`.
    public init(
        archived files: [ArchivedFile], links: [(path: String, target: String)] = [],
        malformed: [(shown: String, repaired: String)] = [], long: [String] = [], special: [String] = [],
        large: [String] = [], in root: String
    ) throws(AppDefinitionError) {
        var collector = AppFileCollector()
        var paths: Set<ExactText> = []
        for file in files {
            guard let path = Self.path(file.path, inside: root) else { continue }
            if !paths.insert(ExactText(path)).inserted {
                collector.report(
                    DefinitionProblem(
                        .partShadowed, severity: .warning, file: path,
                        "the archive has this file more than once, and the last one is read; names whose letters are composed differently in Unicode are the same in archives: rename one of them"
                    ))
            }
            collector.add(path, size: file.bytes.count) { file.bytes }
        }
        for link in links {
            guard let path = Self.path(link.path, inside: root) else { continue }
            collector.report(
                DefinitionProblem(
                    .linkNotFollowed, severity: .warning, file: path,
                    "this is a link to \(link.target), and links in archives aren't followed: make the archive with the files themselves (zip does so; tar with -h)"
                ))
        }
        for name in malformed {
            guard let path = Self.path(name.repaired, inside: root) else { continue }
            collector.report(.nameNotText(name.shown, isNeeded: AppPaths.isRead(path)))
        }
        for path in special {
            if let path = Self.path(path, inside: root) { collector.report(.notAFile(path)) }
        }
        for path in long {
            guard let path = Self.path(path, inside: root), AppPaths.isRead(path) || AppPaths.isKept(path) else {
                continue
            }
            collector.report(
                DefinitionProblem(
                    .fileUnreadable, file: path,
                    "its path has more than the \(Self.pathLimit) bytes or \(Self.partLimit) parts that are read in archives: shorten it"
                ))
        }
        for path in large {
            guard let path = Self.path(path, inside: root) else { continue }
            if AppPaths.isRead(path) {
                collector.report(
                    DefinitionProblem(
                        .fileTooLarge, file: path, "it has more than \(AppFiles.fileLimit) bytes, the limit: divide it")
                )
            } else if Hosting.path(ofFile: path) != nil {
                collector.report(.hostedTooLarge(path))
            } else if AppPaths.isKept(path) {
                collector.report(
                    DefinitionProblem(
                        .fileNotKept, severity: .warning, file: path,
                        "it has more than \(Hosting.fileLimit) bytes, and isn't kept: `partita app export` won't have it; move it out of the app"
                    ))
            }
        }
        let others = Self.otherRoots(inArchive: files.map(\.path), besides: root)
        if let other = others.first {
            collector.report(
                DefinitionProblem(
                    .partShadowed, severity: .warning, file: "",
                    "the archive has \(others.count == 1 ? "a second app" : "\(others.count) more apps"), in \(other): only the one in \(root.isEmpty ? "its root" : root) is read; deploy each from an archive of its own"
                ))
        }
        self = try collector.files()
    }

    /// The folders of further apps in an archive, sorted.
    private static func otherRoots(inArchive files: [String], besides root: String) -> [String] {
        let found = files.compactMap { AppPaths.root(shownBy: plain($0)) }.filter(\.isSure).map(\.folder)
        return Set(texts: found).sortedTexts.filter { !$0.hasSameBytes(as: root) }
    }

    /// Takes the files of `functions/node_modules` of an archive: packages, and files that no function can require.
    /// - Parameter found: by their paths inside the app's folder.
    /// - Throws: `AppDefinitionError` when the packages exceed a limit, or a path isn't that of a place in the app's folder.
    public mutating func addPackages(_ found: [ArchivedFile]) throws(AppDefinitionError) {
        try Self.refuse(astray: found.map(\.path).filter { !AppPaths.isPlain($0) })
        let folder = PackageCollector.folder + "/"
        var collector = PackageCollector()
        for file in found where file.path.startsWithBytes(of: folder) {
            let inner = String(decoding: file.path.utf8.dropFirst(folder.utf8.count), as: UTF8.self)
            if let module = PackageCollector.modulePath(inner) {
                try collector.add(module, file.bytes)
                if module.hasSameBytes(as: inner), String(validating: file.bytes, as: UTF8.self) != nil { continue }
            }
            keep(file.path, size: file.bytes.count) { file.bytes }
        }
        packages = collector.packages
    }
}

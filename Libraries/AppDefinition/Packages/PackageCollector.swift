import DocumentModel

/// Takes the files of an app's packages one by one, from a folder or an archive, within limits. Every host of the app's functions
/// holds them in memory.
public struct PackageCollector {
    /// The most bytes of all files. A host receives them in one frame.
    public static let totalLimit = 24 << 20
    /// The most files.
    public static let countLimit = 20_000
    /// The folder that they are in, inside the app's.
    public static let folder = "functions/node_modules"
    /// The archives of that folder, as the vendor's tools upload them.
    public static let archives = [".zip", ".tar", ".tar.gz", ".tgz"].map { folder + $0 }

    private var texts: [ExactText: String] = [:]
    private var total = 0
    /// The folders of the files.
    private var folders: Set<ExactText> = []

    public init() {}

    /// Begins with packages that the app has.
    init(_ packages: AppPackages) {
        texts = packages.texts
        total = texts.values.reduce(0) { $0 + $1.utf8.count }
        for path in texts.keys { noteFolders(of: path.text) }
    }

    private mutating func noteFolders(of path: String) {
        var folder = path[...]
        while let end = folder.utf8.lastIndex(of: UInt8(ascii: "/")) {
            folder = folder[..<end]
            // Those around it are there, too.
            guard folders.insert(String(folder)) else { return }
        }
    }

    /// The path inside `node_modules` of a file that functions can require; `nil` for any other file.
    /// - Parameter path: inside the archive, which is made of that folder or of its contents.
    public static func modulePath(_ path: String) -> String? {
        var parts = path.split(separator: "/", omittingEmptySubsequences: true).filter { $0 != "." }
        if parts.first == "node_modules" { parts.removeFirst() }
        guard parts.count > 1, !parts.contains(".."), parts.first?.hasPrefix(".") == false,
            [".js", ".cjs", ".mjs", ".json"].contains(where: { path.hasSuffix($0) })
        else { return nil }
        return parts.joined(separator: "/")
    }

    /// - Parameter path: as `modulePath` returns it.
    /// - Throws: `AppDefinitionError` with `file-too-large` when the packages exceed a limit.
    public mutating func add(_ path: String, _ bytes: [UInt8]) throws(AppDefinitionError) {
        try check(adding: bytes.count)
        total += bytes.count
        // As Node reads them: bytes that aren't UTF-8 are replaced.
        texts[path] = String(decoding: bytes, as: UTF8.self)
        noteFolders(of: path)
    }

    /// Whether a file of this size can be added; asked before it is read.
    /// - Throws: `AppDefinitionError` with `file-too-large` when the packages would exceed a limit.
    func check(adding size: Int) throws(AppDefinitionError) {
        guard total + size <= Self.totalLimit, texts.count < Self.countLimit else {
            throw AppDefinitionError(problems: [
                DefinitionProblem(
                    .fileTooLarge, file: Self.folder,
                    "the packages have more than \(Self.totalLimit) bytes or \(Self.countLimit) files of JavaScript and JSON: remove those that no function requires (npm prune --omit=dev)"
                )
            ])
        }
    }

    /// The text of a file that was taken.
    func text(_ path: String) -> String? { texts[path] }

    /// Whether a file of a package was taken.
    /// - Parameter place: its folder, inside `node_modules`.
    func has(packageAt place: String) -> Bool { folders.contains(place) }

    public var packages: AppPackages { texts.isEmpty ? .none : AppPackages(texts) }
}

import DocumentModel
import Foundation

extension AppFiles {
    /// Reads `functions/node_modules` of the app's folder, as Node sees it: its links are followed inside of the app's folder. Without that
    /// folder there are no packages.
    /// - Parameter folder: the app's.
    /// - Throws: `AppDefinitionError` when the packages exceed a limit, or a file can't be read.
    public mutating func readPackages(folder: String) throws(AppDefinitionError) {
        let root = "\(folder)/\(PackageCollector.folder)"
        guard FileManager.default.fileExists(atPath: root) else { return }
        var walk = PackageWalk(root: FolderEntry.real(folder), files: self, shown: PackageCollector.folder)
        try walk.packages(in: FolderEntry.real(root), at: "", visible: [], around: [])
        self = walk.files
        packages = walk.collector.packages
    }

    /// Takes the packages that the app names and doesn't have from another folder, with those that they need in turn. What the app has
    /// itself stays.
    ///
    /// A package that is needed and isn't in the folder either is one of `problems`.
    /// - Parameter folder: a `node_modules`. Its links are followed inside of it.
    /// - Returns: the names of the packages that were taken, sorted.
    /// - Throws: `AppDefinitionError` when the packages exceed a limit, or a file can't be read.
    public mutating func addPackages(from folder: String) throws(AppDefinitionError) -> [String] {
        let missing = PackageUses.missing(AppDefinition.inspect(self).definition)
        guard !missing.isEmpty else { return [] }
        let root = FolderEntry.real(folder)
        var walk = PackageWalk(
            root: root, files: self, collector: PackageCollector(packages), keepsOtherFiles: false, shown: folder)
        let taken = try walk.packages(missing, in: root)
        self = walk.files
        guard !taken.isEmpty else { return [] }
        packages = walk.collector.packages
        // It would be read in place of what was added.
        for archive in PackageCollector.archives {
            if let bytes = otherFiles.removeValue(forKey: ExactText(archive)) { otherBytes -= bytes.count }
        }
        return taken
    }

    /// Keeps a file that isn't part of the definition.
    mutating func keep(_ path: String, size: Int, read: () -> [UInt8]?) {
        if size > Hosting.fileLimit, Hosting.path(ofFile: path) != nil {
            return problems.append(.hostedTooLarge(path))
        }
        guard otherFiles.count < Self.otherCountLimit, otherBytes + size <= Self.otherTotalLimit else {
            if refusedHosted == nil, Hosting.path(ofFile: path) != nil { refusedHosted = ExactText(path) }
            if !problems.contains(where: { $0.code == .fileNotKept }) {
                problems.append(
                    DefinitionProblem(
                        .fileNotKept, severity: .warning, file: path,
                        "this file and others after it aren't kept, so that `partita app export` won't have them: hosted files and those that no service reads have more than \(Self.otherTotalLimit) bytes or are more than \(Self.otherCountLimit), the limits"
                    ))
            }
            return
        }
        guard let bytes = read() else {
            problems.append(
                DefinitionProblem(.fileUnreadable, file: path, "can't be read: check that this user may read it"))
            return
        }
        otherBytes += bytes.count
        otherFiles[path] = bytes
    }
}

/// Reads a folder `node_modules`.
///
/// A package that is a link, as pnpm makes them, finds its own dependencies beside the place to which the link leads. Functions' modules have
/// no links, so these dependencies are put into a `node_modules` of the package, unless it finds the same ones further up.
private struct PackageWalk {
    /// The folder inside of which links are followed, itself without links.
    private let root: String
    private(set) var files: AppFiles
    private(set) var collector: PackageCollector
    /// Whether files that no function can require are kept with the app.
    private let keepsOtherFiles: Bool
    /// The folder of packages, for messages.
    private let shown: String
    private var count = 0
    /// The places of the packages that were read, with their real paths.
    private var found: [ExactText: String] = [:]

    /// The most entries that are looked at, since links can make many of few.
    private static let countLimit = 200_000

    init(
        root: String, files: AppFiles, collector: PackageCollector = PackageCollector(), keepsOtherFiles: Bool = true,
        shown: String
    ) {
        self.root = root
        self.files = files
        self.collector = collector
        self.keepsOtherFiles = keepsOtherFiles
        self.shown = shown
    }

    /// Packages by name, with their real paths.
    private typealias Level = [ExactText: String]

    /// - Parameters:
    ///   - directory: a folder of packages.
    ///   - place: where they are, inside `node_modules`.
    ///   - visible: the packages that a package there finds, the nearest last.
    ///   - around: the real paths of the packages around it.
    mutating func packages(
        in directory: String, at place: String, visible: [[ExactText: String]], around: Set<ExactText>
    ) throws(AppDefinitionError) {
        let level = try level(of: directory, at: place, keepsFiles: true)
        for (name, real) in level.sorted(by: { $0.key < $1.key }) {
            try package(
                real, at: join(place, name.text), isLink: !real.hasSameBytes(as: "\(directory)/\(name.text)"),
                visible: visible + [level], around: around)
        }
    }

    /// Reads some packages of a folder, with those that they need, unless the app has them.
    /// - Returns: the names of all that were read, sorted.
    mutating func packages(_ names: [String], in directory: String) throws(AppDefinitionError) -> [String] {
        let before = files.problems
        let level = try level(of: directory, at: "", keepsFiles: false)
        // A link that isn't followed matters only where its package is needed.
        let refused = files.problems.dropFirst(before.count)
        files.problems = before
        var taken: Set<ExactText> = []
        var pending = names
        while let name = pending.popLast() {
            guard !taken.contains(name), !collector.has(packageAt: name) else { continue }
            guard let real = level[ExactText(name)] else {
                files.problems += refused.filter { $0.file.hasSameBytes(as: "\(shown)/\(name)") }
                continue
            }
            taken.insert(ExactText(name))
            found = [:]
            try package(
                real, at: name, isLink: !real.hasSameBytes(as: "\(directory)/\(name)"), visible: [level], around: [])
            for place in found.keys.sorted().map(\.text) {
                let needs = PackageNeeds(collector.text("\(place)/package.json") ?? "")
                for need in needs.required + needs.others where !isFound(need, from: place) {
                    if level[ExactText(need)] != nil {
                        pending.append(need)
                    } else if needs.required.containsExactly(need), !collector.has(packageAt: need) {
                        noteMissing(need, of: place)
                    }
                }
            }
        }
        return taken.sortedTexts
    }

    /// Whether a package that was read has another one inside of it, or inside of one around it.
    private func isFound(_ name: String, from place: String) -> Bool {
        var place = place
        while true {
            if found[ExactText("\(place)/node_modules/\(name)")] != nil { return true }
            guard let range = place.range(of: "/node_modules/", options: .backwards) else { return false }
            place = String(place[..<range.lowerBound])
        }
    }

    private mutating func noteMissing(_ name: String, of place: String) {
        files.problems.append(
            DefinitionProblem(
                .featureNotServed, severity: .warning, file: "\(shown)/\(place)/package.json",
                "the package \(name), which this one needs, is neither in the export nor in \(shown): run `npm install` where that folder is, and deploy again"
            ))
    }

    /// The packages directly in a folder, those of scopes too. Other files are kept.
    private mutating func level(
        of directory: String, at place: String, keepsFiles: Bool
    ) throws(AppDefinitionError) -> Level {
        var level: Level = [:]
        var names = try names(in: directory)[...]
        while let name = names.popFirst() {
            let path = join(place, name)
            switch FolderEntry(at: "\(directory)/\(name)", inside: root) {
            case .folder where name.hasPrefix("@") && !name.contains("/"):
                names += try self.names(in: "\(directory)/\(name)").map { "\(name)/\($0)" }
            case .folder(let real) where !name.hasPrefix("."): level[name] = real
            case .file(let size) where keepsFiles: keep(path, "\(directory)/\(name)", size)
            case .refused(let reason): refuse(path, reason)
            default: continue
            }
        }
        return level
    }

    private mutating func package(
        _ real: String, at place: String, isLink: Bool, visible: [Level], around: Set<ExactText>
    ) throws(AppDefinitionError) {
        guard !around.contains(ExactText(real)) else { return }
        found[ExactText(place)] = real
        let around = around.union([ExactText(real)])
        var own: Level = [:]
        if FileManager.default.fileExists(atPath: real + "/node_modules") {
            own = try level(of: FolderEntry.real(real + "/node_modules"), at: place + "/node_modules", keepsFiles: true)
        }
        if isLink, let siblings = siblings(of: real) {
            let further = try level(of: siblings, at: place + "/node_modules", keepsFiles: false)
            for (name, other) in further where !other.hasSameBytes(as: real) && own[name] == nil {
                let found = visible.last { $0[name] != nil }?[name]
                if found?.hasSameBytes(as: other) != true { own[name] = other }
            }
        }
        try folder(real, at: place, around: [ExactText(real)])
        for (name, other) in own.sorted(by: { $0.key < $1.key }) {
            try package(
                other, at: "\(place)/node_modules/\(name.text)",
                isLink: !other.hasSameBytes(as: "\(real)/node_modules/\(name.text)"),
                visible: visible + [own], around: around)
        }
    }

    /// The folder `node_modules` in which a package really is.
    private func siblings(of real: String) -> String? {
        guard let range = real.range(of: "/node_modules/", options: .backwards) else { return nil }
        return real[..<range.lowerBound] + "/node_modules"
    }

    /// The files of a package, without those of its `node_modules`.
    private mutating func folder(_ directory: String, at place: String, around: Set<ExactText>)
        throws(AppDefinitionError)
    {
        for name in try names(in: directory) where name != "node_modules" {
            let (path, full) = ("\(place)/\(name)", "\(directory)/\(name)")
            switch FolderEntry(at: full, inside: root) {
            case .folder(let real) where !around.contains(ExactText(real)):
                try folder(real, at: path, around: around.union([ExactText(real)]))
            case .file(let size):
                guard let module = PackageCollector.modulePath(path) else {
                    keep(path, full, size)
                    continue
                }
                try collector.check(adding: size)
                guard let data = FileManager.default.contents(atPath: full) else { throw unreadable(path) }
                let bytes = [UInt8](data)
                try collector.add(module, bytes)
                // Its text would be another one.
                if String(validating: bytes, as: UTF8.self) == nil { keep(path, full, size) }
            case .refused(let reason): refuse(path, reason)
            default: continue
            }
        }
    }

    private func join(_ place: String, _ name: String) -> String { place.isEmpty ? name : "\(place)/\(name)" }

    private mutating func names(in directory: String) throws(AppDefinitionError) -> [String] {
        guard let found = FolderNames(of: directory) else { throw unreadable(directory) }
        for name in found.malformed {
            files.problems.append(.nameNotText("\(directory)/\(name.shown)", isNeeded: false))
        }
        count += found.names.count
        guard count <= Self.countLimit else {
            throw AppDefinitionError(problems: [
                DefinitionProblem(
                    .fileTooLarge, file: shown,
                    "the packages have more than \(Self.countLimit) files and links, the limit: remove those that no function requires (npm prune --omit=dev)"
                )
            ])
        }
        return found.names
    }

    private mutating func keep(_ path: String, _ full: String, _ size: Int) {
        guard keepsOtherFiles else { return }
        files.keep("\(shown)/\(path)", size: size) {
            FileManager.default.contents(atPath: full).map { [UInt8]($0) }
        }
    }

    private mutating func refuse(_ path: String, _ reason: String) {
        files.problems.append(
            DefinitionProblem(
                .linkNotFollowed, severity: .warning, file: "\(shown)/\(path)", reason))
    }

    private func unreadable(_ path: String) -> AppDefinitionError {
        AppDefinitionError(problems: [
            DefinitionProblem(
                .fileUnreadable, file: "\(shown)/\(path)",
                "can't be read: check that this user may read it")
        ])
    }
}

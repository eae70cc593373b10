public import DocumentModel

/// The text files of an app folder in the App Services export format, by their path inside it.
///
/// An app definition is read from these files, and they are its stored form, so that a later version of Partita can read more from
/// them. They include only configuration (`.json`) and sources (`.js`).
public struct AppFiles: Hashable, Sendable {
    /// The largest file that is read, in bytes.
    public static let fileLimit = 4 << 20
    /// The largest total, in bytes: the definition is one row in Postgres.
    public static let totalLimit = 32 << 20

    /// The most bytes of files that aren't part of the definition and that are kept: hosted ones, and those that no service reads.
    public static let otherTotalLimit = 64 << 20
    /// The most of these files.
    public static let otherCountLimit = 20_000

    /// The files' texts by path relative to the app's folder, with `/` between components.
    public var texts: [ExactText: String]
    /// What the operator decided at the deployment.
    public var choices = DeploymentChoices()

    /// The packages that functions require. They aren't part of `document`: the registry stores them separately.
    public var packages = AppPackages.none

    /// The files at an app's places that aren't part of `document`, by path: hosted ones (`Hosting.folder`), and those that no service reads,
    /// which are kept for `export`.
    public var otherFiles: [ExactText: [UInt8]] = [:]
    var otherBytes = 0
    /// The first hosted file that isn't kept, because all of them exceed a limit.
    var refusedHosted: ExactText?
    /// What was found while the files were collected. Inspecting an app reports it; it isn't stored.
    public var problems: [DefinitionProblem] = []

    /// Creates the files of an app from texts by relative path.
    public init(_ texts: [ExactText: String] = [:]) { self.texts = texts }

    /// The text of a file, or `nil` when there is no such file.
    public subscript(path: String) -> String? { texts[path] }

    /// All paths, sorted, so that the order of reading, and thus of problems, doesn't depend on a hash seed.
    public var paths: [String] { texts.keys.sorted().map(\.text) }

    /// The paths directly inside a folder (`triggers`), sorted.
    func files(in folder: String, suffix: String) -> [String] {
        paths.filter { path in
            path.startsWithBytes(of: folder + "/") && path.hasSuffix(suffix)
                && !path.utf8.dropFirst(folder.utf8.count + 1).contains(UInt8(ascii: "/"))
        }
    }

    /// The names of the folders directly inside a folder, sorted.
    func folders(in folder: String) -> [String] {
        var names: Set<ExactText> = []
        for path in paths where path.startsWithBytes(of: folder + "/") {
            let parts = path.utf8.dropFirst(folder.utf8.count + 1).split(separator: UInt8(ascii: "/"))
            if parts.count > 1 { names.insert(String(decoding: parts[0], as: UTF8.self)) }
        }
        return names.sortedTexts
    }
}

extension AppFiles {
    /// By what services read, and by bytes: files that differ only in the Unicode form of a text are others.
    public static func == (left: AppFiles, right: AppFiles) -> Bool {
        left.choices == right.choices && left.packages == right.packages && left.texts.count == right.texts.count
            && left.texts.allSatisfy { right.texts[$0.key.text]?.hasSameBytes(as: $0.value) == true }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(choices)
        hasher.combine(Set(texts.keys))
    }
}

extension AppFiles: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(Dictionary(elements.map { (ExactText($0.0), $0.1) }) { _, last in last })
    }
}

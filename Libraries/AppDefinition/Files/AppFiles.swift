/// The text files of an app folder in the App Services export format, by their path inside it.
///
/// This is what an app definition is made of and what is stored of it: whatever a later version of Partita learns to read is
/// already there. Only configuration (`.json`) and sources (`.js`) are kept.
public struct AppFiles: Hashable, Sendable {
    /// Path relative to the app's folder, with `/` between components, to the file's text.
    public var texts: [String: String]

    /// Creates the files of an app from texts by relative path.
    public init(_ texts: [String: String] = [:]) { self.texts = texts }

    /// The text of a file, or `nil` when there is no such file.
    public subscript(path: String) -> String? { texts[path] }

    /// All paths, sorted, so that reading (and with it the order of problems) never depends on a hash seed.
    public var paths: [String] { texts.keys.sorted() }

    /// The paths directly inside a folder (`triggers`), sorted.
    func files(in folder: String, suffix: String) -> [String] {
        paths.filter { path in
            path.hasPrefix(folder + "/") && path.hasSuffix(suffix) && !path.dropFirst(folder.count + 1).contains("/")
        }
    }

    /// The names of the folders directly inside a folder, sorted.
    func folders(in folder: String) -> [String] {
        var names: [String] = []
        for path in paths where path.hasPrefix(folder + "/") {
            let parts = path.dropFirst(folder.count + 1).split(separator: "/")
            if parts.count > 1, names.last != String(parts[0]) { names.append(String(parts[0])) }
        }
        return Array(Set(names)).sorted()
    }
}

extension AppFiles: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(Dictionary(elements) { _, last in last })
    }
}

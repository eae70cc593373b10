import DocumentModel

/// What of a dump isn't imported, as a sentence for each file or folder.
extension DumpFolder {
    /// The databases of a MongoDB server itself.
    static let servers = ["admin", "config", "local"]

    /// Whether a file is of a server's own collections.
    private static func isServers(_ name: String) -> Bool {
        ["system.", "startup_log.", "oplog.", "replset."].contains { name.hasPrefix($0) }
    }

    /// The oplog that `mongodump --oplog` writes.
    static func isOplog(_ name: String) -> Bool { ["oplog.bson", "oplog.bson.gz"].contains(name) }

    /// What is beside the folders of databases.
    static func overlooked(beside names: [String], in directory: String) -> [String] {
        names.filter(isOplog).map {
            "\(directory)/\($0) isn't imported: what was written while the dump was made may be there only in part; dump while nobody writes"
        }
    }

    /// What isn't the server's own of one of its databases; `config` has nothing else.
    static func overlooked(ofServer database: String, in directory: String, _ names: [String]) -> [String] {
        names.filter { database != "config" && isData($0) && !isServers($0) }.map {
            "\(directory)/\($0) isn't imported: the database \(database) is the server's own; dump the collection from another one"
        }
    }

    /// What of a database's folder isn't imported, besides the server's own collections.
    static func overlooked(in directory: String, _ names: [String]) -> [String] {
        names.compactMap { name -> String? in
            let path = "\(directory)/\(name)"
            if isFolder(path) {
                return
                    "\(path) isn't imported: a database's folder has files only; import it by itself, or move the files that are beside it"
            }
            if name.hasPrefix("system.buckets."), isData(name) {
                return
                    "\(path) isn't imported: time series aren't kept; dump the collection with `mongoexport`, or from a copy that is none"
            }
            if ["system.js.bson", "system.js.bson.gz"].contains(name) {
                return
                    "\(path) isn't imported: JavaScript that is stored in a database isn't kept; make it functions of the app"
            }
            let lower = name.lowercased()
            if !isData(name), [".bson", ".bson.gz", ".bson.zst", ".bson.snappy"].contains(where: lower.hasSuffix) {
                return "\(path) isn't imported: files of documents end in .bson or .bson.gz"
            }
            for suffix in [".metadata.json", ".metadata.json.gz"] where name.hasSuffix(suffix) {
                let stem = String(name.dropLast(suffix.count))
                let hasData = names.containsExactly(stem + ".bson") || names.containsExactly(stem + ".bson.gz")
                guard !stem.hasPrefix("system.") else { continue }
                let metadata = try? DumpMetadata(path: path)  // one that can't be read has nothing to import either
                if metadata?.isView == true {
                    return
                        "\(path) isn't imported: it is a view, and whoever reads it finds nothing; run its pipeline where it is read"
                }
                guard !hasData, metadata != nil else { continue }
                return "\(path) isn't imported: no file of documents is beside it, so its indexes aren't made"
            }
            return nil
        }
    }
}

public import DocumentModel
import Foundation

/// A collection in a folder that `mongodump` wrote.
public struct DumpedCollection: Sendable {
    /// Its name in the dump.
    public var namespace: ChangeEvent.Namespace
    /// The file of documents: `<database>/<collection>.bson`, or `.bson.gz`.
    public var path: String
    /// The metadata; `nil` if the dump has no such file.
    public var metadata: DumpMetadata?
    /// The file's size in bytes.
    public var size: Int64

    var isCompressed: Bool { path.hasSuffix(".gz") }

    public init(namespace: ChangeEvent.Namespace, path: String, metadata: DumpMetadata?, size: Int64) {
        self.namespace = namespace
        self.path = path
        self.metadata = metadata
        self.size = size
    }
}

/// A folder that `mongodump` wrote: a folder for each database, two files for each collection.
public enum DumpFolder {
    /// What a dump has.
    public struct Contents: Sendable {
        /// The collections that contain documents.
        public var collections: [DumpedCollection] = []
        /// What isn't imported although it may have documents, indexes or options: a sentence for each file or folder.
        public var overlooked: [String] = []
    }

    /// The collections that contain documents, sorted by name.
    ///
    /// - Parameters:
    ///   - directory: The dump, or the folder of one database in it; in that case `database` is the database's name.
    ///   - database: Returns only the collections of this database.
    ///   - collection: Returns only the collection of this name.
    public static func collections(
        in directory: String, database: String? = nil, collection: String? = nil
    ) throws(DumpError) -> [DumpedCollection] {
        try contents(of: directory, database: database, collection: collection).collections
    }

    /// The same, with what isn't imported.
    public static func contents(
        of directory: String, database: String? = nil, collection: String? = nil
    ) throws(DumpError) -> Contents {
        var found = Contents()
        let names = try entries(of: directory)
        if names.contains(where: { isData($0) && $0 != "oplog.bson" }) {
            let name = database ?? URL(fileURLWithPath: directory).lastPathComponent
            try add(name, in: directory, names, only: collection, to: &found)
        } else {
            for name in names where database == nil || database == name {
                var isFolder: ObjCBool = false
                let path = "\(directory)/\(name)"
                guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
                    if collection == nil, name == "oplog.bson" {
                        found.overlooked.append(
                            "\(path) isn't imported: what was written while the dump was made may be there only in part; dump while nobody writes"
                        )
                    }
                    continue
                }
                if servers.contains(name) {
                    let own = try entries(of: path).filter { isData($0) && !isServers($0) }
                    if collection == nil, name != "config" {
                        found.overlooked += own.map {
                            "\(path)/\($0) isn't imported: the database \(name) is the server's own; dump the collection from another one"
                        }
                    }
                    continue
                }
                try add(name, in: path, try entries(of: path), only: collection, to: &found)
            }
        }
        if found.collections.isEmpty {
            let wanted = [database, collection].compactMap { $0 }.joined(separator: ".")
            throw DumpError(.noDump, "\(directory) has no dump\(wanted.isEmpty ? "" : " of \(wanted)")")
        }
        return found
    }

    private static func entries(of directory: String) throws(DumpError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        } catch {
            var isFolder: ObjCBool = false
            if FileManager.default.fileExists(atPath: directory, isDirectory: &isFolder), !isFolder.boolValue {
                throw DumpError(
                    .noDump,
                    "\(directory) is a file: only folders of `mongodump` are imported; restore an archive with `mongorestore --archive`, and dump it with `--out`"
                )
            }
            throw DumpError(.noDump, "can't read the folder \(directory)")
        }
    }

    /// The databases of a MongoDB server itself.
    private static let servers = ["admin", "config", "local"]

    /// Whether a file is of a server's own collections.
    private static func isServers(_ name: String) -> Bool {
        ["system.", "startup_log.", "oplog.", "replset."].contains { name.hasPrefix($0) }
    }

    private static func isData(_ name: String) -> Bool { name.hasSuffix(".bson") || name.hasSuffix(".bson.gz") }

    /// Names of at least this length may be truncated: `mongodump` truncates them at 208 bytes, and appends a hash.
    private static let longestWhole = 208

    private static func add(
        _ database: String, in directory: String, _ names: [String], only chosen: String?, to found: inout Contents
    ) throws(DumpError) {
        if chosen == nil { found.overlooked += overlooked(in: directory, names) }
        for name in names where isData(name) {
            let stem = String(name.dropLast(name.hasSuffix(".gz") ? 8 : 5))
            let plain = stem.removingPercentEncoding ?? stem
            // Skipped before reading the metadata, since that of other collections may be unreadable.
            if let chosen, plain != chosen, stem.utf8.count < longestWhole { continue }
            let suffix = name.hasSuffix(".gz") ? ".metadata.json.gz" : ".metadata.json"
            let metadata =
                names.contains(stem + suffix) ? try DumpMetadata(path: "\(directory)/\(stem)\(suffix)") : nil
            // A long name is truncated in the file's name, but complete in the metadata.
            let collection = metadata?.collection ?? plain
            if let chosen, collection != chosen { continue }
            if collection.hasPrefix("system.") || metadata?.isView == true { continue }
            let path = "\(directory)/\(name)"
            let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber)?.int64Value
            guard let size else { throw DumpError(.badFile, "can't read \(path)") }
            if let lost = metadata?.lostOptions, !lost.isEmpty {
                found.overlooked.append(
                    "\(directory)/\(stem)\(suffix) has options that aren't kept: \(lost.joined(separator: ", "))")
            }
            found.collections.append(
                DumpedCollection(
                    namespace: .init(database: database, collection: collection), path: path, metadata: metadata,
                    size: size))
        }
    }

    /// What of a database's folder isn't imported, besides the server's own collections.
    private static func overlooked(in directory: String, _ names: [String]) -> [String] {
        names.compactMap { name -> String? in
            let path = "\(directory)/\(name)"
            var isFolder: ObjCBool = false
            if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
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
                let hasData = names.contains { $0 == stem + ".bson" || $0 == stem + ".bson.gz" }
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

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
        if names.contains(where: { isData($0) && !isOplog($0) }) {
            let name = database ?? URL(fileURLWithPath: directory).lastPathComponent
            try add(name, in: directory, names, only: collection, to: &found)
        } else {
            if collection == nil { found.overlooked += overlooked(beside: names, in: directory) }
            for name in names where database?.hasSameBytes(as: name) != false {
                let path = "\(directory)/\(name)"
                guard isFolder(path) else { continue }
                let files = try entries(of: path)
                if servers.contains(name) {
                    if collection == nil { found.overlooked += overlooked(ofServer: name, in: path, files) }
                } else {
                    try add(name, in: path, files, only: collection, to: &found)
                }
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
            if FileManager.default.fileExists(atPath: directory), !isFolder(directory) {
                throw DumpError(
                    .noDump,
                    "\(directory) is a file: only folders of `mongodump` are imported; restore an archive with `mongorestore --archive`, and dump it with `--out`"
                )
            }
            throw DumpError(.noDump, "can't read the folder \(directory)")
        }
    }

    static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    static func isData(_ name: String) -> Bool { name.hasSuffix(".bson") || name.hasSuffix(".bson.gz") }

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
            if let chosen, !plain.hasSameBytes(as: chosen), stem.utf8.count < longestWhole { continue }
            let suffix = name.hasSuffix(".gz") ? ".metadata.json.gz" : ".metadata.json"
            let metadata =
                names.containsExactly(stem + suffix) ? try DumpMetadata(path: "\(directory)/\(stem)\(suffix)") : nil
            // A long name is truncated in the file's name, but complete in the metadata.
            let collection = metadata?.collection ?? plain
            if let chosen, !collection.hasSameBytes(as: chosen) { continue }
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
}

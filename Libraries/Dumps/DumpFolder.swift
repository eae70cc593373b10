public import DocumentModel
import Foundation

/// A collection in a folder that `mongodump` wrote.
public struct DumpedCollection: Sendable {
    /// What it is called in the dump.
    public var namespace: ChangeEvent.Namespace
    /// The documents: `<database>/<collection>.bson`, or `.bson.gz`.
    public var path: String
    /// `nil` where the dump has none beside the documents.
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
    /// The collections that hold documents, in the order of their names. Views, and what is the server's own, are left out.
    ///
    /// - Parameters:
    ///   - directory: The dump, or the folder of one database in it; then `database` says what it is called.
    ///   - database: Only the collections of this one.
    ///   - collection: Only this one.
    public static func collections(
        in directory: String, database: String? = nil, collection: String? = nil
    ) throws(DumpError) -> [DumpedCollection] {
        var found: [DumpedCollection] = []
        let names = try entries(of: directory)
        if names.contains(where: { isData($0) && $0 != "oplog.bson" }) {
            let name = database ?? URL(fileURLWithPath: directory).lastPathComponent
            found = try collections(of: name, in: directory, names, only: collection)
        } else {
            for name in names where database == nil || database == name {
                var isFolder: ObjCBool = false
                let path = "\(directory)/\(name)"
                guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue,
                    !["admin", "config", "local"].contains(name)
                else { continue }
                found += try collections(of: name, in: path, try entries(of: path), only: collection)
            }
        }
        if found.isEmpty {
            let wanted = [database, collection].compactMap { $0 }.joined(separator: ".")
            throw DumpError(.noDump, "\(directory) has no dump\(wanted.isEmpty ? "" : " of \(wanted)")")
        }
        return found
    }

    private static func entries(of directory: String) throws(DumpError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        } catch {
            throw DumpError(.noDump, "can't read the folder \(directory)")
        }
    }

    private static func isData(_ name: String) -> Bool { name.hasSuffix(".bson") || name.hasSuffix(".bson.gz") }

    /// Files whose names are at least so long may have cut ones; `mongodump` cuts at 208 bytes, and adds a hash.
    private static let longestWhole = 208

    private static func collections(
        of database: String, in directory: String, _ names: [String], only chosen: String?
    ) throws(DumpError) -> [DumpedCollection] {
        var found: [DumpedCollection] = []
        for name in names where isData(name) {
            let stem = String(name.dropLast(name.hasSuffix(".gz") ? 8 : 5))
            let plain = stem.removingPercentEncoding ?? stem
            // Another's metadata may be unreadable.
            if let chosen, plain != chosen, stem.utf8.count < longestWhole { continue }
            let suffix = name.hasSuffix(".gz") ? ".metadata.json.gz" : ".metadata.json"
            let metadata =
                names.contains(stem + suffix) ? try DumpMetadata(path: "\(directory)/\(stem)\(suffix)") : nil
            // A long name is cut in the file's, and whole in the metadata.
            let collection = metadata?.collection ?? plain
            if let chosen, collection != chosen { continue }
            if collection.hasPrefix("system.") || metadata?.isView == true { continue }
            let path = "\(directory)/\(name)"
            let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber)?.int64Value
            guard let size else { throw DumpError(.badFile, "can't read \(path)") }
            found.append(
                DumpedCollection(
                    namespace: .init(database: database, collection: collection), path: path, metadata: metadata,
                    size: size))
        }
        return found
    }
}

public import DocumentModel
public import DocumentStore
import Foundation

/// Exports collections of an app into a folder in the format of `mongodump`, for `mongorestore`, `bsondump` or ``DumpImport``.
///
/// All collections are exported in one snapshot, unaffected by concurrent writes. Rows are read through a cursor, so memory is
/// bounded.
public struct DumpExport: Sendable {
    /// The progress of an export.
    public struct Status: Sendable {
        public var namespace: ChangeEvent.Namespace
        public var documents: Int
        /// Whether the collection is complete.
        public var isComplete: Bool
    }

    let store: DocumentStore
    let app: String

    public init(store: DocumentStore, app: String) {
        self.store = store
        self.app = app
    }

    /// Writes `<directory>/<database>/<collection>.bson` and `.metadata.json`. An existing file is replaced when the new one is
    /// complete.
    ///
    /// - Parameters:
    ///   - database: Exports only the collections of this database.
    ///   - collection: Exports only the collection of this name.
    /// - Throws: `DumpError`; errors of Postgres.
    @discardableResult
    public func run(
        to directory: String, database: String? = nil, collection: String? = nil,
        report: @escaping @Sendable (Status) -> Void = { _ in }
    ) async throws -> [ChangeEvent.Namespace: Int] {
        let namespaces = try await store.collections(of: app).filter {
            database?.hasSameBytes(as: $0.database) != false && collection?.hasSameBytes(as: $0.collection) != false
        }
        if namespaces.isEmpty { throw DumpError(.noDump, "\(app) has no such collection") }
        var listed: [ChangeEvent.Namespace: [Document]] = [:]
        for namespace in namespaces {
            // MongoDB has no index by trigrams.
            listed[namespace] = try await store.collection(
                namespace.collection, database: namespace.database, app: app
            ).indexes().filter { $0.trigramPath == nil }.map(\.document)
        }
        let indexes = listed
        return try await store.withSnapshot(app: app) { snapshot in
            var counts: [ChangeEvent.Namespace: Int] = [:]
            for namespace in namespaces {
                let folder = "\(directory)/\(namespace.database)"
                do {
                    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                } catch {
                    throw DumpError(.notWritable, "can't make the folder \(folder)")
                }
                let stem = "\(folder)/\(namespace.fileName)"
                let file = try DumpWriter(path: stem + ".bson")
                var count = 0
                try await snapshot.forEach(in: namespace) { document in
                    try file.write(document)
                    count += 1
                    if count % 10_000 == 0 {
                        report(Status(namespace: namespace, documents: count, isComplete: false))
                    }
                }
                try file.finish()
                let metadata = try DumpWriter(path: stem + ".metadata.json")
                try metadata.write(namespace.metadata(indexes: indexes[namespace] ?? []))
                try metadata.finish()
                counts[namespace] = count
                report(Status(namespace: namespace, documents: count, isComplete: true))
            }
            return counts
        }
    }
}

extension ChangeEvent.Namespace {
    /// The collection's name in the form that `mongodump` uses in file names.
    fileprivate var fileName: String {
        collection.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(.init(charactersIn: "-._~")))
            ?? collection
    }

    fileprivate func metadata(indexes: [Document]) -> [UInt8] {
        let document: Document = [
            "options": [:], "indexes": .array(indexes.map(Value.document)), "collectionName": .string(collection),
            "type": "collection",
        ]
        var text: [UInt8] = []
        ExtendedJSON.append(document, mode: .canonical, to: &text)
        return text
    }
}

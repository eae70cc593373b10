public import DocumentModel
public import DocumentStore
import EventLoop
public import Postgres

/// Imports collections of a dump into an app.
///
/// Documents are read, checked and inserted in batches with bounded memory, the next batch being read while one is committed.
/// With each batch, a row records the progress of the import: one that was stopped or killed continues after the last committed
/// batch when it is run again, without duplicates or gaps. Documents that can't be imported are written to a file, one line of JSON
/// each, and counted; they don't stop the others. Indexes are created at the end.
///
/// Imported documents get revisions and change rows like any other write, so that devices and permissions learn of them; triggers
/// skip them unless ``Options/firesTriggers`` is set.
public struct DumpImport: Sendable {
    public struct Options: Sendable {
        /// Whether the collection's documents are deleted first. An import that was interrupted begins anew then.
        public var drops = false
        /// Whether database triggers run for the documents, and for those that are deleted first.
        public var firesTriggers = false
        /// Whether documents that violate the collection's schema are imported.
        public var bypassesSchema = false
        /// Whether a file that was already imported is imported again, from its beginning.
        public var again = false
        /// The folder for the files of rejected documents.
        public var rejections = "."
        /// The maximum number of documents that are committed together.
        public var batch = 2000

        public init() {}
    }

    /// The progress of an import.
    public struct Status: Sendable {
        /// The number of bytes of the file that were read, and its size.
        public var bytesRead: Int64
        public var size: Int64
        /// The numbers of committed and of rejected documents.
        public var inserted: Int64
        public var rejected: Int64
    }

    /// The result of importing a collection.
    public struct Report: Sendable {
        public var inserted: Int64 = 0
        public var rejected: Int64 = 0
        /// The file that lists the rejected documents; `nil` if there are none.
        public var rejections: String?
        /// The number of documents that earlier runs had inserted.
        public var resumedAfter: Int64 = 0
        public var indexes: [String] = []
        /// What is different from MongoDB although it was imported: indexes that are only recorded.
        public var warnings: [String] = []
        /// Other problems: indexes that can't be created, a file that ends in the middle of a document.
        public var problems: [String] = []

        public var isComplete: Bool { rejected == 0 && problems.isEmpty }
    }

    let store: DocumentStore
    let client: PostgresClient
    let app: String
    let options: Options

    /// - Parameters:
    ///   - store: The document store, which must know the app. ``DumpMigrations`` must have been applied to its database.
    ///   - client: A client of the same database.
    public init(store: DocumentStore, client: PostgresClient, app: String, options: Options = Options()) {
        self.store = store
        self.client = client
        self.app = app
        self.options = options
    }

    /// Imports a collection, or continues an interrupted import.
    ///
    /// - Parameters:
    ///   - namespace: Its name in the app; `nil` for the one in the dump.
    ///   - report: Called after each batch.
    /// - Throws: `DumpError`, `DocumentStoreError`; committed documents stay, and the next run continues after them.
    public func run(
        _ dumped: DumpedCollection, as namespace: ChangeEvent.Namespace? = nil,
        report: @escaping @Sendable (Status) -> Void = { _ in }
    ) async throws -> Report {
        let namespace = namespace ?? dumped.namespace
        let collection = store.collection(namespace.collection, database: namespace.database, app: app)
        var record = try await begin(dumped, as: namespace)
        var result = Report(resumedAfter: record.inserted)
        if record.phase == .drop {
            try await collection.deleteMany([:], options: DeleteOptions(origin: options.firesTriggers ? nil : .dump))
            try await advance(&record, to: .documents)
        }
        let log = RejectionLog(path: rejectionsPath(of: record))
        if record.phase == .documents {
            let load = DumpLoad(
                collection: collection, client: client, log: log, options: options, size: dumped.size, report: report)
            if let fault = try await load.run(dumped.path, &record) {
                // The next run tries again: the file may have been copied only partly.
                result.problems.append(fault.message)
            } else {
                try await advance(&record, to: .indexes)
            }
        }
        if record.phase == .indexes {
            // The next run tries again what failed, and says again what can't be done.
            if await makeIndexes(dumped.metadata, of: collection, &result) { try await advance(&record, to: .done) }
        }
        if dumped.metadata?.isTimeSeries == true {
            result.problems.append("this is the dump of a time series: its documents are buckets of measurements")
        }
        result.inserted = record.inserted
        result.rejected = record.rejected
        if record.rejected > 0 { result.rejections = log.path }
        return result
    }

    private func begin(_ dumped: DumpedCollection, as namespace: ChangeEvent.Namespace) async throws -> ImportRecord {
        guard namespace.isValid else {
            throw DumpError(.badName, "no collection here can have this name: rename it before it is dumped")
        }
        let digest = try FileDigest.of(dumped.path)
        let known = try await ImportRecord.read(app: app, namespace: namespace, digest: digest, on: client)
        // Documents that came after the interruption would stay, or the file's first ones be missing, if it were continued.
        if let known, known.phase != .done, !options.drops, !options.again { return known }
        guard known?.phase != .done || options.again else {
            throw DumpError(.alreadyImported, "\(dumped.path) was already imported; use --again to import it once more")
        }
        let record = ImportRecord(
            app: app, namespace: namespace, digest: digest, phase: options.drops ? .drop : .documents)
        try await store.ensureCollection(namespace, app: app)
        try await record.begin(on: client, path: dumped.path)
        return record
    }

    private func advance(_ record: inout ImportRecord, to phase: ImportRecord.Phase) async throws {
        var next = record
        next.phase = phase
        try await next.write(over: record, on: client)
        record = next
    }

    /// - Returns: whether all indexes were created.
    private func makeIndexes(
        _ metadata: DumpMetadata?, of collection: DocumentCollection, _ result: inout Report
    ) async -> Bool {
        let problems = result.problems.count
        for document in metadata?.secondaryIndexes ?? [] {
            let name = document["name"]?.stringValue ?? "?"
            do {
                let model = try IndexModel(document)
                result.indexes.append(try await collection.createIndex(model))
                if let note = model.note { result.warnings.append("warning: index \(name): \(note)") }
            } catch let error as DocumentStoreError {
                result.problems.append("index \(name): \(error.message)")
            } catch {
                result.problems.append("index \(name): \(error)")
            }
        }
        return result.problems.count == problems
    }

    /// The most bytes of names in the name of a file, which has 255 at most.
    private static let nameLimit = 180

    /// Each record has a file of its own, whose size it has: imports of another app, or of another file, would write over each other's lines.
    private func rejectionsPath(of record: ImportRecord) -> String {
        // A collection's name may contain a slash.
        let names = "\(record.namespace.database).\(record.namespace.collection).\(record.app)".utf8.map {
            $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0
        }
        let name =
            names.count <= Self.nameLimit
            ? String(decoding: names, as: UTF8.self)
            : String(decoding: names.prefix(Self.nameLimit), as: UTF8.self)
                + String(Fingerprint(names).value, radix: 16)
        return "\(options.rejections)/\(name).\(record.digest).rejected.jsonl"
    }
}

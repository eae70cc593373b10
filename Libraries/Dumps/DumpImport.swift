public import DocumentModel
public import DocumentStore
import EventLoop
public import Postgres

/// Imports collections of a dump into an app.
///
/// Documents are read, checked and inserted in batches with bounded memory, the next batch being read while one is committed.
/// With each batch a row says how far the import has come: one that was stopped, or killed, goes on behind the last batch that was
/// committed when it is run again, with nothing twice and nothing left out. Documents that can't be taken are written to a file,
/// one line of JSON each, and counted; they don't stop the others. Indexes are made at the end.
///
/// What is imported takes revisions and leaves change rows like any other write, so that devices and permissions learn of it;
/// triggers skip it unless ``Options/firesTriggers`` is set.
public struct DumpImport: Sendable {
    public struct Options: Sendable {
        /// Delete the collection's documents first.
        public var drops = false
        /// Whether database triggers run for the documents.
        public var firesTriggers = false
        /// Whether documents are taken that the collection's schema forbids.
        public var bypassesSchema = false
        /// Whether a file that was imported to the end is imported again.
        public var again = false
        /// The folder of the files of rejections.
        public var rejections = "."
        /// How many documents are committed together at most.
        public var batch = 2000

        public init() {}
    }

    /// How far an import has come.
    public struct Status: Sendable {
        /// Bytes of the file that were read, and its size.
        public var bytesRead: Int64
        public var size: Int64
        /// Documents that are committed, and that were not taken.
        public var inserted: Int64
        public var rejected: Int64
    }

    /// What became of a collection.
    public struct Report: Sendable {
        public var inserted: Int64 = 0
        public var rejected: Int64 = 0
        /// Where the rejected ones are listed.
        public var rejections: String?
        /// The documents that an earlier run had inserted.
        public var resumedAfter: Int64 = 0
        public var indexes: [String] = []
        /// What else went wrong: indexes that can't be made, a file that ends in the middle of a document.
        public var problems: [String] = []

        public var isComplete: Bool { rejected == 0 && problems.isEmpty }
    }

    let store: DocumentStore
    let client: PostgresClient
    let app: String
    let options: Options

    /// - Parameters:
    ///   - store: Knows the app; ``DumpMigrations`` were applied to its database.
    ///   - client: Of the same database.
    public init(store: DocumentStore, client: PostgresClient, app: String, options: Options = Options()) {
        self.store = store
        self.client = client
        self.app = app
        self.options = options
    }

    /// Imports a collection, or goes on with it.
    ///
    /// - Parameters:
    ///   - namespace: What it is called in the app; as in the dump if `nil`.
    ///   - report: Called after each batch.
    /// - Throws: `DumpError`, `DocumentStoreError`; what was committed stays, and the next run goes on behind it.
    public func run(
        _ dumped: DumpedCollection, as namespace: ChangeEvent.Namespace? = nil,
        report: @escaping @Sendable (Status) -> Void = { _ in }
    ) async throws -> Report {
        let namespace = namespace ?? dumped.namespace
        let collection = store.collection(namespace.collection, database: namespace.database, app: app)
        var record = try await begin(dumped, as: namespace)
        var result = Report(resumedAfter: record.inserted)
        if record.phase == .drop {
            try await collection.deleteMany([:])
            try await advance(&record, to: .documents)
        }
        let log = RejectionLog(path: rejectionsPath(namespace))
        if record.phase == .documents {
            let load = DumpLoad(
                collection: collection, client: client, log: log, options: options, size: dumped.size, report: report)
            if let fault = try await load.run(dumped.path, &record) {
                // The next run looks again: the file may have been copied only half.
                result.problems.append(fault.message)
            } else {
                try await advance(&record, to: .indexes)
            }
        }
        if record.phase == .indexes {
            await makeIndexes(dumped.metadata, of: collection, &result)
            try await advance(&record, to: .done)
        }
        if dumped.metadata?.isTimeSeries == true {
            result.problems.append("a time series was dumped: its documents are buckets of measurements")
        }
        result.inserted = record.inserted
        result.rejected = record.rejected
        if record.rejected > 0 { result.rejections = log.path }
        return result
    }

    private func begin(_ dumped: DumpedCollection, as namespace: ChangeEvent.Namespace) async throws -> ImportRecord {
        let digest = try FileDigest.of(dumped.path)
        let known = try await ImportRecord.read(app: app, namespace: namespace, digest: digest, on: client)
        if let known, known.phase != .done { return known }
        guard known == nil || options.again else {
            throw DumpError(.alreadyImported, "\(dumped.path) was imported already; --again imports it once more")
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

    private func makeIndexes(
        _ metadata: DumpMetadata?, of collection: DocumentCollection, _ result: inout Report
    ) async {
        for document in metadata?.secondaryIndexes ?? [] {
            let name = document["name"]?.stringValue ?? "?"
            do {
                result.indexes.append(try await collection.createIndex(IndexModel(document)))
            } catch let error as DocumentStoreError {
                result.problems.append("index \(name): \(error.message)")
            } catch {
                result.problems.append("index \(name): \(error)")
            }
        }
    }

    private func rejectionsPath(_ namespace: ChangeEvent.Namespace) -> String {
        // A collection's name may hold a slash.
        let name = "\(namespace.database).\(namespace.collection)".map { $0 == "/" ? "_" : $0 }
        return "\(options.rejections)/\(String(name)).rejected.jsonl"
    }
}

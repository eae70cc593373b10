import BenchmarkRunner
import DocumentModel
import DocumentStore
import Dumps
import EventLoop
import Postgres
import SyncEngine

/// A document store of one app on a durable database of its own, and messages of a chat to fill it with.
struct DocumentWorld: Sendable {
    static let app = "bench"
    static let database = "Bench"

    let client: PostgresClient
    let store: DocumentStore

    /// Runs `body` as services run their work: on the loop of the connections.
    static func with(
        _ bench: BenchmarkRun, _ name: String,
        _ body: @escaping @Sendable (DocumentWorld) async throws -> [Measurement]
    ) async throws -> [Measurement] {
        var configuration = PostgresConfiguration(url: try await bench.machine.database(name))
        configuration.connections = 2
        configuration.settings = ["synchronous_commit": "on"]
        configuration.statementTimeout = .seconds(120)
        let loops = LoopGroup(1, name: "documents")
        let measurements = try await PostgresClient.withClient(configuration, on: loops) { client in
            try await DocumentStore.migrations.apply(on: client)
            try await DumpMigrations.migrations.apply(on: client)
            let store = DocumentStore(client: client)
            let synced = ["messages"] + (0..<1000).flatMap { ["ours\($0)", "copied\($0)"] }
            store.define(
                AppStorage(
                    app: app, syncDatabase: database, partitionKey: "conversation", syncedCollections: synced))
            return try await withTaskExecutorPreference(loops.next().taskExecutor) {
                try await body(DocumentWorld(client: client, store: store))
            }
        }
        await loops.shutDown()
        return measurements
    }

    /// A collection, whose table is made.
    func collection(_ name: String) async throws -> DocumentCollection {
        try await store.ensureCollection(.init(database: Self.database, collection: name), app: Self.app)
        return store.collection(name, database: Self.database, app: Self.app)
    }

    /// The table of a collection as SQL names it.
    static func table(_ name: String) -> String { "\"\(app)/\(database)\".\"\(name)\"" }

    func fill(_ collection: DocumentCollection, _ count: Int) async throws {
        for start in stride(from: 0, to: count, by: 1000) {
            try await collection.insertMany((start..<min(start + 1000, count)).map(Self.message))
        }
        try await client.execute("vacuum analyze \(Self.table(collection.namespace.collection))")
    }

    static func id(_ number: Int) -> Value {
        .objectId(ObjectId(high: 0x64f0_c0ff_ee00_0000, low: UInt32(truncatingIfNeeded: number)))
    }

    static func message(_ number: Int) -> Document {
        [
            "_id": id(number), "conversation": .string("conversation=\(number % 50)"),
            "author": .string("user\(number % 997)"), "number": .int32(Int32(number)),
            "text": .string(
                "Message \(number): see you at the corner, bring the tools and the map of the place, please"),
            "sentAt": .date(1_700_000_000_000 + Int64(number) * 1000), "likes": .int32(Int32(number % 17)),
            "score": .double(Double(number % 1000) / 8),
            "location": ["type": "Point", "coordinates": .array([.double(13.4), .double(52.5)])],
            "tags": ["work", "tools", "today"], "edited": .bool(number % 3 == 0),
        ]
    }

    static func body(_ document: Document) -> [UInt8] {
        var text: [UInt8] = []
        ExtendedJSON.append(document, mode: .canonical, to: &text)
        return text
    }

    /// The form for queries; of these documents the dates alone are other than relaxed Extended JSON has them.
    static func plain(_ document: Document) -> [UInt8] {
        var plain = document
        if case .date(let milliseconds)? = document["sentAt"] { plain["sentAt"] = ["$date": .int64(milliseconds)] }
        var text: [UInt8] = []
        ExtendedJSON.append(plain, mode: .relaxed, to: &text)
        return text
    }

    static func partition(_ document: Document) -> String { document["conversation"]?.keyText ?? "" }

    static let clocks = "{\"d\":[117654927902900224,\"\",\"2147483647.0\"]}"
}

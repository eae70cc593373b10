import DocumentModel
import DocumentStore
import Dumps
import EventLoop
import Foundation
import Postgres
import SyncEngine
import TestSupport

/// A store of an app on a database of its own, and a folder that is removed afterwards.
struct DumpFixture: Sendable {
    static let app = "rchat"
    private static let loops = LoopGroup(1)

    let store: DocumentStore
    let client: PostgresClient
    let url: String
    let folder: String

    static func with<R: Sendable>(_ body: @Sendable (DumpFixture) async throws -> R) async throws -> R {
        let url = try await TestEngines.shared().makeDatabase()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dump-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }  // nothing depends on the removal
        return try await PostgresClient.withClient(PostgresConfiguration(url: url), on: loops) { client in
            try await DocumentStore.migrations.apply(on: client)
            try await DumpMigrations.migrations.apply(on: client)
            let store = DocumentStore(client: client)
            store.define(
                AppStorage(app: app, syncDatabase: "Shop", partitionKey: nil) { _, document in
                    document["forbidden"] == nil ? nil : .init(reason: "forbidden is forbidden", path: "forbidden")
                })
            return try await body(DumpFixture(store: store, client: client, url: url, folder: folder))
        }
    }

    func collection(_ name: String) -> DocumentCollection { store.collection(name, database: "Shop", app: Self.app) }

    func importer(_ change: (inout DumpImport.Options) -> Void = { _ in }) -> DumpImport {
        var options = DumpImport.Options()
        options.rejections = folder
        change(&options)
        return DumpImport(store: store, client: client, app: Self.app, options: options)
    }

    /// A file of the folder `Fixtures`.
    static func path(_ name: String) throws -> String {
        guard let url = Bundle.module.url(forResource: "Fixtures", withExtension: nil) else {
            throw CocoaError(.fileNoSuchFile)
        }
        return url.appendingPathComponent(name).path
    }

    static func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

    /// A dump of one collection, in the fixture's folder.
    func dump(_ bytes: [UInt8], as name: String) throws -> DumpedCollection {
        let database = "\(folder)/in/Shop"
        try FileManager.default.createDirectory(atPath: database, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(fileURLWithPath: "\(database)/\(name).bson"))
        return try DumpFolder.collections(in: "\(folder)/in", collection: name)[0]
    }

    /// This many small documents, as BSON.
    static func documents(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        for number in 0..<count {
            bytes += try BSON.encode(["_id": .int32(Int32(number)), "text": .string("document \(number)")])
        }
        return bytes
    }

    /// How many change rows there are, how many of them came with an import, and the sum of the partitions' heads.
    func changes() async throws -> (all: Int, imported: Int, heads: Int) {
        let rows = try await client.query(
            """
            select count(*), count(*) filter (where origin_device = 'import'),
                (select coalesce(sum(head), 0)::bigint from partita.partitions)
            from partita.changes
            """)
        guard let row = rows.first else { return (0, 0, 0) }
        let (all, imported, heads) = try row.decode((Int, Int, Int).self)
        return (all, imported, heads)
    }
}

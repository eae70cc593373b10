import DocumentModel
import DocumentStore
import EventLoop
import Postgres
import SyncEngine
import TestSupport
import Testing

/// A store on a database of its own, with an app of its own.
struct StoreFixture: Sendable {
    static let app = "rchat"
    static let loops = LoopGroup(1)

    /// Tests run at once, and a server has a hundred connections.
    private static let turns = Turns(6)

    let store: DocumentStore
    let client: PostgresClient
    let url: String

    var table: String { "\"rchat/RChat\".\"ChatMessage\"" }

    static func with<R: Sendable>(
        partitionKey: String? = "partition", hasNullPartition: Bool = false, connections: Int = 4,
        settings: [String: String] = [:],
        validate: @escaping AppStorage.Validator = { _, _ in nil },
        _ body: @Sendable (StoreFixture) async throws -> R
    ) async throws -> R {
        try await withClient(connections: connections, settings: settings) { client, url in
            let store = DocumentStore(client: client)
            store.define(
                AppStorage(
                    app: app, syncDatabase: "RChat", partitionKey: partitionKey, hasNullPartition: hasNullPartition,
                    syncedCollections: ["ChatMessage", "User", "Chatster"], validate: validate))
            try await store.ensureCollection(.init(database: "RChat", collection: "ChatMessage"), app: app)
            return try await body(StoreFixture(store: store, client: client, url: url))
        }
    }

    /// Runs `body` with a client of a database of its own, which has the store's tables, and the database's URL.
    static func withClient<R: Sendable>(
        connections: Int = 4, settings: [String: String] = [:],
        _ body: @Sendable (PostgresClient, String) async throws -> R
    ) async throws -> R {
        await turns.take()
        defer { turns.giveBack() }
        let url = try await TestEngines.shared().makeDatabase()
        var configuration = PostgresConfiguration(url: url)
        configuration.connections = connections
        configuration.settings.merge(settings) { $1 }
        return try await PostgresClient.withClient(configuration, on: loops) { client in
            try await DocumentStore.migrations.apply(on: client)
            return try await body(client, url)
        }
    }

    /// Lets a user write a partition.
    func grant(_ access: Access = .write, to user: String = "*", in partition: Partition) async throws {
        try await Self.grant(access, to: user, in: partition, app: Self.app, on: client)
    }

    static func grant(
        _ access: Access, to user: String, in partition: Partition, app: String, on client: PostgresClient
    ) async throws {
        try await client.execute(
            """
            insert into partita.grants (app, partition, user_id, access, epoch, version) values ($1, $2, $3, $4, 1, 1)
            on conflict (app, partition, user_id) do update set access = excluded.access
            """,
            [.text(app), .text(partition.text), .text(user), .text(access.rawValue)])
    }

    func commit(_ uploads: [Upload]) async throws -> [UploadResult] {
        var results: [UploadResult?] = Array(repeating: nil, count: uploads.count)
        // An upload whose rows are locked by another session leaves the batch, and no event reports when the lock is free.
        return try await eventually("no lock is in the way") {
            let open = uploads.indices.filter { results[$0] == nil }
            for (place, result) in zip(open, try await store.commit(open.map { uploads[$0] }, app: Self.app)) {
                results[place] = try result?.get()
            }
            let answers = results.compactMap(\.self)
            return answers.count == uploads.count ? answers : nil
        }
    }

    func commit(_ upload: Upload) async throws -> UploadResult { try await commit([upload])[0] }

    /// Begins an epoch as an operator does after a restore; returns its number.
    func beginEpoch() async throws -> Int32 {
        try #require(await client.query("select partita.begin_epoch('restored')").decode(Int32.self).first)
    }

    /// Numbers and ids of a partition's change rows, in order.
    func changes(in partition: Partition) async throws -> [(number: Int64, id: String, operation: String)] {
        try await client.query(
            "select revision, _id, operation from partita.changes where app = $1 and partition = $2 order by epoch, revision",
            [.text(Self.app), .text(partition.text)]
        ).map { row in
            let (number, id, operation) = try row.decode((Int64, String, String).self)
            return (number, id, operation)
        }
    }

    func head(of partition: Partition) async throws -> Int64 {
        try await client.query(
            "select head from partita.partitions where app = $1 and partition = $2",
            [.text(Self.app), .text(partition.text)]
        ).first?.decode(0) ?? 0
    }

    /// A document as the table has it.
    func document(_ id: String, in collection: String = "ChatMessage") async throws -> Document? {
        let rows = try await client.query(
            "select body::text from \"rchat/RChat\".\"\(collection)\" where _id = $1", [.text("s:" + id)])
        return try rows.first.map { try ExtendedJSON.parseDocument($0.decode(0, as: String.self)) }
    }
}

/// Admits this many at a time.
private final class Turns: Sendable {
    private let state: Locked<(free: Int, waiting: [CheckedContinuation<Void, Never>])>

    init(_ count: Int) { state = Locked((count, [])) }

    func take() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func giveBack() {
        let next = state.withLock { state in
            if state.waiting.isEmpty {
                state.free += 1
                return nil as CheckedContinuation<Void, Never>?
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}

extension Partition {
    static func conversation(_ name: String) -> Partition { Partition(text: "s:conversation=\(name)") }
}

extension Upload {
    /// A changeset of one device with some operations.
    static func of(
        _ version: Int64, _ operations: [Operation], user: String = "ada", device: String = "phone",
        in partition: Partition, time: Int64 = 1_700_000_000_000
    ) -> Upload {
        let clock = HybridTime(milliseconds: time)
        return Upload(
            user: user, device: device, partition: partition,
            changeset: Changeset(version: version, clock: clock, operations: operations), time: clock)
    }
}

extension Operation {
    static func insert(
        _ id: String, _ fields: Document = [:], in partition: Partition, collection: String = "ChatMessage"
    ) -> Operation {
        var document: Document = ["_id": .string(id)]
        document.fields += fields.fields
        if let value = partition.value { document.fields.append(.init("partition", value)) }
        return Operation(collection: collection, id: .string(id), kind: .insert(document))
    }

    static func update(
        _ id: String, _ operators: Document, incarnation: Revision? = nil, base: Revision? = nil,
        collection: String = "ChatMessage"
    ) -> Operation {
        Operation(
            collection: collection, id: .string(id), kind: .update(operators: operators, arrayFilters: []),
            incarnation: incarnation, base: base)
    }

    static func delete(_ id: String, incarnation: Revision? = nil, collection: String = "ChatMessage") -> Operation {
        Operation(collection: collection, id: .string(id), kind: .delete, incarnation: incarnation)
    }
}

extension UploadResult {
    var acknowledgement: Acknowledgement? { if case .acknowledged(let ack) = self { ack } else { nil } }
    var rejection: OperationRejection? { if case .rejected(let rejection) = self { rejection } else { nil } }
    var isForked: Bool { if case .forked = self { true } else { false } }
}

extension DocumentStore {
    /// The history of one partition.
    func epochHistory(of partition: Partition, app: String) async throws -> (history: EpochHistory, head: Revision) {
        let key = PartitionKey(app: app, partition: partition)
        return try #require(try await epochHistories(of: [key])[key])
    }
}

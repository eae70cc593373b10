import ChangeStream
import DocumentModel
import DocumentStore
import EventLoop
import Postgres
import Simulation
import SyncEngine

/// Plays what happened on a simulated server against a document store, and compares the answers.
struct StoreReplay {
    private let client: PostgresClient
    private let store: DocumentStore
    private let storage = SimulatedWorld.storage
    private let rights = Locked<[ExactText: Set<Partition>]>([:])

    init(_ client: PostgresClient) {
        self.client = client
        store = DocumentStore(client: client)
        store.define(storage)
    }

    /// - Returns: How the store's answer differs from the model's; `nil` when both are the same.
    func play(_ call: ServerCall) async throws -> String? {
        switch call {
        case .commit(let upload, let partitions, let expected):
            try await allow(upload.user, partitions)
            let result = try await store.commit([upload], app: storage.app)[0]?.get()
            return difference("upload \(upload.changeset)", result.map { "\($0)" } ?? "locked", "\(expected)")
        case .set(let field, let value, let key):
            try await store.collection(key.collection, database: storage.syncDatabase, app: storage.app)
                .updateOne(["_id": Value(idText: key.idText) ?? .null], ["$set": [field: value]])
            return nil
        case .subscribe(let checkpoint, let token, let expected):
            let (history, head) = try await store.epochHistory(of: SimulatedWorld.partition, app: storage.app)
            let point = history.resumePoint(for: checkpoint, resuming: token, head: head)
            return difference("subscribe with \(checkpoint)", "\(point)", "\(expected)")
        case .read(let point, let limit, let device, let expected):
            let read = try await store.catchUp(
                app: storage.app, partition: SimulatedWorld.partition, from: point.revision,
                deletionsAfter: point.horizon, user: SimulatedWorld.user(of: device),
                device: device,
                limits: .init(entries: limit))
            return difference("read after \(point)", try text(of: read), text(of: expected))
        case .dropTombstones:
            try await client.execute("update partita.tombstones set deleted_at = now() - interval '2 days'")
            try await HistoryRetention(client: client, options: .init(tombstoneDays: 1)).sweep()
            return nil
        case .backUp:
            try await backUp()
            return nil
        case .restore:
            try await restore()
            return nil
        }
    }

    private func difference(_ call: String, _ found: String, _ expected: String) -> String? {
        found == expected ? nil : "\(call)\nstore: \(found)\nmodel: \(expected)"
    }

    /// Grants a user exactly these partitions.
    private func allow(_ user: String, _ partitions: Set<Partition>) async throws {
        let former = rights.withLock { $0.updateValue(partitions, forKey: ExactText(user)) } ?? []
        for partition in partitions.symmetricDifference(former) {
            try await StoreFixture.grant(
                partitions.contains(partition) ? .write : .none, to: user, in: partition, app: storage.app, on: client)
        }
    }

    // MARK: Chunks

    private func text(of read: CatchUp) throws -> String {
        let entries = try read.entries.map { entry in
            let document = try entry.body.map { try ExtendedJSON.parseDocument($0) }
            return Self.text(entry.collection, entry.idText, entry.revision, entry.incarnation, document)
        }
        return Self.text(
            read.from, read.to, read.head, read.remaining, read.lastVersion, read.epoch, read.tombstoneHorizon, entries)
    }

    private func text(of chunk: CatchUpChunk<Download>) -> String {
        let entries = chunk.payload.changes.map { change in
            Self.text(change.collection, change.id.idText, change.revision, change.incarnation, change.document)
        }
        return Self.text(
            chunk.from, chunk.to, chunk.head, chunk.remaining, chunk.lastVersion, chunk.epoch, chunk.tombstoneHorizon,
            entries)
    }

    private static func text(
        _ from: Revision, _ to: Revision, _ head: Revision, _ remaining: Int?, _ lastVersion: Int64, _ epoch: Int32,
        _ horizon: Revision, _ entries: [String]
    ) -> String {
        "\(from)…\(to) of \(head), \(remaining ?? -1) left, last version \(lastVersion), epoch \(epoch), horizon \(horizon)\n"
            + entries.joined(separator: "\n")
    }

    private static func text(
        _ collection: String, _ id: String?, _ revision: Revision, _ incarnation: Revision, _ document: Document?
    ) -> String {
        "\(collection) \(id ?? "?") \(revision) since \(incarnation): \(document.map { ExtendedJSON.print($0) } ?? "deleted")"
    }

    // MARK: Backups

    /// Copies every table that a backup contains and that the calls change.
    private func backUp() async throws {
        try await client.execute("create schema if not exists backup")
        for (place, table) in try await backedUpTables().enumerated() {
            try await client.execute("drop table if exists backup.t\(place)")
            try await client.execute("create table backup.t\(place) as table \(table)")
        }
    }

    private func restore() async throws {
        let tables = try await backedUpTables()
        try await client.withTransaction { transaction in
            // As in a restore, no trigger runs.
            try await transaction.execute("set local session_replication_role = replica")
            for (place, table) in tables.enumerated() {
                try await transaction.execute("delete from \(table)")
                try await transaction.execute(
                    "insert into \(table) overriding system value select * from backup.t\(place)")
            }
        }
        // With the number that the simulation gives it.
        try await client.execute(
            """
            insert into partita.epochs (epoch, system_identifier, timeline, reason)
            select epoch + 1, system_identifier, timeline, 'restored by the test' from partita.epochs order by epoch desc limit 1
            """)
    }

    private func backedUpTables() async throws -> [String] {
        let collections = try await client.query(
            "select format('%I.%I', schema_name, table_name) from partita.collections order by 1"
        ).decode(String.self)
        return [
            "partitions", "epoch_ends", "published", "changes", "tombstones", "tombstone_horizons", "uploads",
            "upload_outcomes",
        ].map { "partita." + $0 } + collections
    }
}

import BenchmarkRunner
import CBenchmarkReferences
import DocumentModel
import EventLoop
import Foundation
import Postgres
import SyncEngine

/// Small writes that devices get acknowledged per second, each durable: 128 devices with a partition of their own and as many changesets
/// of one insert in flight as a partition may have (16). Against pipelined inserts of the same documents and change rows, as many in a
/// transaction as the gateway takes into one of its own.
let ackedWrites = acknowledged("sync.acked-writes", devices: 128, partitions: 128, together: 512, goal: 0.3)

/// The same with ten devices.
let tenWriters = acknowledged("sync.acked-writes.ten", devices: 10, partitions: 10, together: 160, goal: 0.3)

/// The same with ten devices in one partition, each of which receives the writes of all.
let sharedWrites = acknowledged("sync.acked-writes.shared", devices: 10, partitions: 1, together: 160, goal: 0.2)

private func acknowledged(_ name: String, devices: Int, partitions: Int, together: Int, goal: Double) -> Benchmark {
    Benchmark(Figure(name, .perSecond, goal: .ratio(atLeast: goal))) { bench in
        let system = try await RunningSystem.shared(on: bench.machine)
        let url = try await bench.machine.postgres()
        let uploaders = try await Blocking.run {
            try Uploaders(system, devices: devices, partitions: partitions, writesEach: 20_480 / devices)
        }
        let reference = try await PipelinedWrites(url: url, together: together)
        defer { uploaders.close() }
        return try await bench.compare {
            try await Blocking.run { try uploaders.writesPerSecond() }
        } reference: {
            try await Blocking.run { try reference.writesPerSecond() }
        }
    }
}

/// The reference: the same rows into tables that are made like the store's, without its triggers.
// Unchecked: used by one thread at a time.
private final class PipelinedWrites: @unchecked Sendable {
    private static let documentSQL = """
        insert into reference.note
            (_id, partition, epoch, revision, incarnation_epoch, incarnation, body, document)
        values ($1, 's:reference', 1, $2::bigint, 1, $2::bigint, $3::json, $4::jsonb)
        """
    private static let changeSQL = """
        insert into reference.changes
            (app, partition, epoch, revision, database, collection, _id, operation, incarnation_epoch, incarnation,
            after, origin_user, origin_device, origin_version)
        values ('bench', 's:reference', 1, $2::bigint, 'Bench', 'Note', $1, 'insert', 1, $2::bigint,
            $3::json, '655f00000000000000000000', 'reference', $2::bigint)
        """

    private let url: String
    private let body: String
    private let plain: String
    private var written = 0
    /// How many are written in a transaction.
    private let together: Int

    init(url: String, together: Int) async throws {
        self.together = together
        self.url = url
        guard let partition = Partition(value: .string("reference")) else { throw BenchmarkError("no partition") }
        let note = Note(id: "reference", partition: partition, number: 1)
        body = ExtendedJSON.print(note.document, mode: .canonical)
        plain = ExtendedJSON.print(note.document, mode: .relaxed)
        let loops = LoopGroup(1, name: "reference")
        try await PostgresClient.withClient(PostgresConfiguration(url: url), on: loops) { client in
            for sql in [
                "drop schema if exists reference cascade", "create schema reference",
                #"create table reference.note (like "bench/Bench"."Note" including all)"#,
                "create table reference.changes (like partita.changes including all)",
            ] {
                try await client.execute(sql)
            }
        }
        await loops.shutDown()
    }

    func writesPerSecond() throws -> Double {
        let count = 16_000
        let seconds = reference_pipelined_inserts(
            url, Self.documentSQL, Self.changeSQL, "reference-%ld", body, plain, written + 1, count, together)
        written += count
        if seconds < 0 { throw BenchmarkError("the reference lost Postgres") }
        return Double(count) / seconds
    }
}

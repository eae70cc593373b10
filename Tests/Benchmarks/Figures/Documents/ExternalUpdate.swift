import BenchmarkRunner
import DocumentModel
import DocumentStore
import EventLoop
import Postgres

/// One statement of an external writer that changes a field of 40,000 documents, against a statement that writes the same rows and
/// change rows without triggers.
let documentsExternalUpdate = Benchmark(Figure("documents.external-update", .perSecond, goal: .ratio(atLeast: 0.1))) {
    bench in
    let count = 40_000
    return try await DocumentWorld.with(bench, "external_update") { world in
        let table = DocumentWorld.table("messages")
        try await world.fill(try await world.collection("messages"), count)
        let round = Locked(100)
        func value() -> Int {
            round.withLock {
                $0 += 1; return $0
            }
        }
        return try await bench.compare {
            let value = value()
            return try await Stopwatch.rate(count) {
                let rows = try await world.client.query(
                    "update \(table) set document = document || '{\"likes\": \(value)}'")
                guard rows.affectedRows == count else { throw BenchmarkError("documents are missing") }
            }
        } reference: {
            let value = value()
            return try await Stopwatch.rate(count) {
                try await world.client.withTransaction { transaction in
                    try await transaction.execute("set local partita.writer = 'library'")
                    try await transaction.execute(bareUpdate(table, value))
                }
            }
        }
    }
}

private func bareUpdate(_ table: String, _ value: Int) -> String {
    """
    with old as (
        select _id, partition, body, row_number() over (partition by partition) as place from \(table)
    ), counts as (
        select partition, count(*) as count from old group by partition
    ), heads as (
        insert into partita.partitions as p (app, partition, epoch, head)
        select '\(DocumentWorld.app)', partition, partita.current_epoch(), count from counts
        on conflict (app, partition) do update set head = p.head + excluded.head
        returning partition, epoch, head
    ), stored as (
        update \(table) t set
            epoch = h.epoch, revision = h.head - c.count + o.place, updated_at = now(),
            document = document || '{"likes": \(value)}',
            body = (t.body::jsonb || '{"likes": {"$numberInt": "\(value)"}}')::json
        from old o join counts c using (partition) join heads h using (partition) where t._id = o._id
        returning t._id, t.partition, t.epoch, t.revision, t.incarnation_epoch, t.incarnation, t.body
    )
    insert into partita.changes (
        app, partition, epoch, revision, database, collection, _id, operation, incarnation_epoch, incarnation, before, after)
    select '\(DocumentWorld.app)', s.partition, s.epoch, s.revision, '\(DocumentWorld.database)', 'messages', s._id, 'update',
        s.incarnation_epoch, s.incarnation, o.body, s.body
    from stored s join old o using (_id)
    """
}

import BenchmarkRunner
import DocumentModel
import DocumentStore
import EventLoop
import Postgres

/// A field of one document, by its `_id`, one call after the other, against one statement that writes all that the store writes.
let documentsUpdateOneById = Benchmark(Figure("documents.update-one.id", .perSecond, goal: .ratio(atLeast: 0.5))) {
    bench in
    let (documents, updates) = (10_000, 1500)
    return try await DocumentWorld.with(bench, "update_one") { world in
        let messages = try await world.collection("messages")
        try await world.fill(messages, documents)
        // The reference is no hand that the triggers have to help.
        try await world.client.execute("alter table \(DocumentWorld.table("messages")) disable trigger user")
        let round = Locked(Int32(0))
        return try await bench.compare {
            let value = round.withLock {
                $0 += 1; return $0
            }
            return try await Stopwatch.rate(updates) {
                for number in 0..<updates {
                    let update: Document = ["$set": ["likes": .int32(1000 + value)]]
                    let result = try await messages.updateOne(["_id": DocumentWorld.id(number * 5)], .document(update))
                    guard result.modifiedCount == 1 else { throw BenchmarkError("nothing was updated") }
                }
            }
        } reference: {
            let value = round.withLock {
                $0 += 1; return $0
            }
            return try await Stopwatch.rate(updates) {
                for number in 0..<updates {
                    var document = DocumentWorld.message(number * 5)
                    document["likes"] = .int32(-value)
                    let rows = try await world.client.query(
                        updateSQL,
                        [
                            .text(DocumentWorld.partition(document)), .text(DocumentWorld.id(number * 5).keyText ?? ""),
                            .text(DocumentWorld.clocks), .utf8(DocumentWorld.body(document)),
                            .utf8(DocumentWorld.plain(document)),
                        ])
                    guard rows.affectedRows == 1 else { throw BenchmarkError("nothing was updated") }
                }
            }
        }
    }
}

private let updateSQL = """
    with head as (
        insert into partita.partitions as p (app, partition, epoch, head)
        values ('\(DocumentWorld.app)', $1, partita.current_epoch(), 1)
        on conflict (app, partition) do update set epoch = excluded.epoch, head = p.head + 1
        returning epoch, head
    ), old as (
        select body, incarnation_epoch, incarnation from \(DocumentWorld.table("messages")) where _id = $2
    ), stored as (
        update \(DocumentWorld.table("messages")) set epoch = head.epoch, revision = head.head, clocks = $3::json,
            body = $4::json, document = $5::jsonb, updated_at = now()
        from head where _id = $2
    )
    insert into partita.changes (
        app, partition, epoch, revision, database, collection, _id, operation, incarnation_epoch, incarnation, before, after)
    select '\(DocumentWorld.app)', $1, head.epoch, head.head, '\(DocumentWorld.database)', 'messages', $2, 'update',
        old.incarnation_epoch, old.incarnation, old.body, $4::json
    from head, old
    """

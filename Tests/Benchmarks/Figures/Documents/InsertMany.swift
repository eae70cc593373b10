import BenchmarkRunner
import DocumentModel
import DocumentStore
import EventLoop
import Postgres

/// Documents in calls of 1,000, against COPY of the same rows in the same transactions.
let documentsInsertMany = Benchmark(Figure("documents.insert-many", .perSecond, goal: .ratio(atLeast: 0.5))) { bench in
    let (count, batch) = (20_000, 1000)
    return try await DocumentWorld.with(bench, "insert_many") { world in
        let documents = (0..<count).map(DocumentWorld.message)
        let round = Locked(0)
        return try await bench.compare {
            let messages = try await world.collection("ours\(round.withLock { $0 += 1; return $0 })")
            return try await Stopwatch.rate(count) {
                for start in stride(from: 0, to: count, by: batch) {
                    try await messages.insertMany(Array(documents[start..<start + batch]))
                }
            }
        } reference: {
            let number = round.withLock {
                $0 += 1; return $0
            }
            _ = try await world.collection("copied\(number)")
            try await world.client.execute(
                "alter table \(DocumentWorld.table("copied\(number)")) disable trigger user")
            let rows = CopiedRows(
                documents, collection: "copied\(number)", batch: batch, after: Int64(number) * 1_000_000)
            return try await Stopwatch.rate(count) { try await rows.copy(on: world.client) }
        }
    }
}

import BenchmarkRunner
import DocumentModel
import DocumentStore
import Postgres

/// The twenty messages with the best score of 200,000, by a sort that no index has.
let firstSorted = Benchmark(Figure("documents.first-sorted", .milliseconds, goal: .ratio(atLeast: 0.5))) { bench in
    try await DocumentWorld.with(bench, "sorting") { world in
        let messages = try await world.collection("messages")
        try await world.fill(messages, 200_000)
        let options = FindOptions(sort: ["score": -1], limit: 20)
        let sql = """
            select body from \(DocumentWorld.table("messages")) order by (document->>'score')::float8 desc limit 20
            """
        return try await bench.compare {
            try await Stopwatch.seconds {
                guard try await messages.find([:], options: options).count == 20 else {
                    throw BenchmarkError("messages are missing")
                }
            } * 1000
        } reference: {
            try await Stopwatch.seconds {
                guard try await world.client.query(sql).count == 20 else {
                    throw BenchmarkError("messages are missing")
                }
            } * 1000
        }
    }
}

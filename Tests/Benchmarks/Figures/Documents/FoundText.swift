import BenchmarkRunner
import DocumentModel
import DocumentStore
import Postgres

/// The messages of 200,000 that have a text anywhere, whatever its case, by an index of trigrams. The
/// reference neither reads the documents into values nor applies the expression.
let foundText = Benchmark(Figure("documents.found-text", .milliseconds, goal: .ratio(atLeast: 0.25))) { bench in
    try await DocumentWorld.with(bench, "found_text") { world in
        let messages = try await world.collection("messages")
        try await world.fill(messages, 200_000)
        try await messages.createIndex(IndexModel([.init("text", .trigram)]))
        let table = DocumentWorld.table("messages")
        try await world.client.execute("create index on \(table) using gin ((document->>'text') public.gin_trgm_ops)")
        try await world.client.execute("vacuum analyze \(table)")
        let filter: Document = ["text": ["$regex": "MESSAGE 123[0-9]{3}:", "$options": "i"]]
        let sql = "select body from \(table) where document->>'text' ilike '%message 123%'"
        return try await bench.compare {
            try await Stopwatch.seconds {
                guard try await messages.find(filter).count == 1000 else {
                    throw BenchmarkError("messages are missing")
                }
            } * 1000
        } reference: {
            try await Stopwatch.seconds { _ = try await world.client.query(sql) } * 1000
        }
    }
}

import BenchmarkRunner
import DocumentModel
import DocumentStore
import Postgres

/// Messages by author, with how many they are, their likes and their mean score, over 100,000 documents.
let documentsGroup = Benchmark(Figure("documents.group", .milliseconds, goal: .ratio(atLeast: 0.77))) { bench in
    try await DocumentWorld.with(bench, "grouping") { world in
        let messages = try await world.collection("messages")
        try await world.fill(messages, 100_000)
        let stage: Document = [
            "$group": [
                "_id": "$author", "count": ["$sum": 1], "likes": ["$sum": "$likes"], "score": ["$avg": "$score"],
            ]
        ]
        let sql = """
            select document->>'author', count(*), sum((document->>'likes')::bigint), avg((document->>'score')::float8)
            from \(DocumentWorld.table("messages")) group by 1
            """
        return try await bench.compare {
            try await Stopwatch.seconds {
                guard try await messages.aggregate([stage]).count == 997 else {
                    throw BenchmarkError("groups are missing")
                }
            } * 1000
        } reference: {
            try await Stopwatch.seconds {
                guard try await world.client.query(sql).count == 997 else { throw BenchmarkError("groups are missing") }
            } * 1000
        }
    }
}

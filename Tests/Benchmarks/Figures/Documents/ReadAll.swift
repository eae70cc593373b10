import BenchmarkRunner
import DocumentModel
import DocumentStore

/// Every document of 100,000 in natural order, of which every tenth was updated since it was inserted: what the order costs, beside the same
/// documents as Postgres has them.
let documentsReadAll = Benchmark(Figure("documents.read-all", .perSecond, goal: .ratio(atLeast: 0.9))) { bench in
    let count = 100_000
    return try await DocumentWorld.with(bench, "read_all") { world in
        let messages = try await world.collection("messages")
        try await world.fill(messages, count)
        _ = try await messages.updateMany(["likes": ["$in": [1, 2]]], ["$set": ["edited": true]])
        try await world.client.execute("vacuum analyze \(DocumentWorld.table("messages"))")
        @Sendable func read(_ options: FindOptions) async throws -> Double {
            try await Stopwatch.rate(count) {
                var found = 0
                try await messages.forEach(options: options) { _ in
                    found += 1
                    return true
                }
                guard found == count else { throw BenchmarkError("documents are missing") }
            }
        }
        var unordered = FindOptions()
        unordered.isOrdered = false
        return try await bench.compare {
            try await read(FindOptions())
        } reference: { [unordered] in
            try await read(unordered)
        }
    }
}

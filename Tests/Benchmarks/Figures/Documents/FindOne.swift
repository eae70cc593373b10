import BenchmarkRunner
import DocumentModel
import DocumentStore
import Postgres

/// One document by its `_id`, one call after the other.
let documentsFindOneById = Benchmark(Figure("documents.find-one.id", .perSecond, goal: .ratio(atLeast: 0.67))) {
    bench in
    try await compareFinds(
        bench, filter: { ["_id": DocumentWorld.id($0)] },
        sql: "select body from \(DocumentWorld.table("messages")) where _id = $1",
        parameter: { .text(DocumentWorld.id($0).keyText ?? "") })
}

/// One document by a field that has an index.
let documentsFindOneByIndex = Benchmark(Figure("documents.find-one.index", .perSecond, goal: .ratio(atLeast: 0.67))) {
    bench in
    try await compareFinds(
        bench, filter: { ["number": .int32(Int32($0))] },
        sql: "select body from \(DocumentWorld.table("messages")) where document->'number' = $1::jsonb limit 1",
        parameter: { .text("\($0)") })
}

private func compareFinds(
    _ bench: BenchmarkRun, filter: @escaping @Sendable (Int) -> Document, sql: String,
    parameter: @escaping @Sendable (Int) -> PostgresValue
) async throws -> [Measurement] {
    let (documents, finds) = (20_000, 5000)
    return try await DocumentWorld.with(bench, "find_one") { world in
        let messages = try await world.collection("messages")
        try await world.fill(messages, documents)
        try await messages.createIndex(IndexModel([.init("number")]))
        try await world.client.execute(
            "create index reference on \(DocumentWorld.table("messages")) ((document->'number'))")
        try await world.client.execute("analyze \(DocumentWorld.table("messages"))")
        return try await bench.compare {
            try await Stopwatch.rate(finds) {
                for number in 0..<finds {
                    guard try await messages.findOne(filter(number * 3)) != nil else {
                        throw BenchmarkError("a document is missing")
                    }
                }
            }
        } reference: {
            try await Stopwatch.rate(finds) {
                for number in 0..<finds {
                    guard try await world.client.query(sql, [parameter(number * 3)]).count == 1 else {
                        throw BenchmarkError("a row is missing")
                    }
                }
            }
        }
    }
}

import BenchmarkRunner
import DocumentModel
import DocumentStore
import Dumps
import EventLoop
import Foundation
import Postgres

/// A dump of 40,000 documents, read, checked and committed with its progress, against COPY of rows that are ready.
let documentsImportDump = Benchmark(Figure("documents.import-dump", .perSecond, goal: .ratio(atLeast: 0.4))) { bench in
    let count = 40_000
    let documents = (0..<count).map(DocumentWorld.message)
    let folder = "\(try await bench.machine.directory())/dump/\(DocumentWorld.database)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    var bytes: [UInt8] = []
    for document in documents { bytes += try BSON.encode(document) }
    try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/messages.bson"))
    let dumped = try DumpFolder.collections(in: folder, database: DocumentWorld.database)[0]
    return try await DocumentWorld.with(bench, "import_dump") { world in
        let dumpImport = DumpImport(store: world.store, client: world.client, app: DocumentWorld.app)
        let round = Locked(0)
        return try await bench.compare {
            let name = "ours\(round.withLock { $0 += 1; return $0 })"
            _ = try await world.collection(name)
            let namespace = ChangeEvent.Namespace(database: DocumentWorld.database, collection: name)
            return try await Stopwatch.rate(count) {
                guard try await dumpImport.run(dumped, as: namespace).inserted == Int64(count) else {
                    throw BenchmarkError("documents are missing")
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
                documents, collection: "copied\(number)", batch: 2000, after: Int64(number) * 1_000_000)
            return try await Stopwatch.rate(count) { try await rows.copy(on: world.client) }
        }
    }
}

import AppDefinition
import AppRegistry
import ChildProcesses
import DocumentModel
import DocumentStore
import Dumps
import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// The import as a program, which is killed.
@Suite struct StoppedImportTests {
    private static let count = 20_000

    @Test func `a killed import continues after its last batch, with bounded memory`() async throws {
        try await DumpFixture.with { fixture in
            // Three times the size by which the process may grow.
            let padding = String(repeating: "x", count: 1500)
            var bytes: [UInt8] = []
            for number in 0..<Self.count {
                bytes += try BSON.encode(["_id": .int32(Int32(number)), "text": .string(padding)])
            }
            _ = try fixture.dump(bytes, as: "items")
            try await fixture.deploy()

            let first = try fixture.start()
            try await eventually("some batches are committed", within: .seconds(60)) {
                try await fixture.imported() >= 4000
            }
            first.signal(SIGKILL)
            _ = await first.wait()
            let before = try await fixture.imported()
            #expect(before < Self.count, "the import was faster than the kill")
            #expect(try await fixture.collection("items").countDocuments() == before)

            let second = try fixture.start()
            var peak = 0
            try await eventually("the import has ended", within: .seconds(120)) {
                peak = max(peak, Self.peakKilobytes(second.pid))
                return try await fixture.client.query("select from partita.imports where phase = 'done'").count == 1
            }
            #expect(await second.wait() == .exited(0))
            #expect(try await fixture.collection("items").countDocuments() == Self.count)
            let changes = try await fixture.changes()
            #expect(changes == (Self.count, Self.count, Self.count))
            #expect(peak > 0 && peak < 200_000, "\(peak) kB")

            // Imported documents are printed as a stream: all of them together would take more memory than this.
            let printed = "\(fixture.folder)/printed"
            let printing = try fixture.start(
                [
                    "documents", "aggregate", "Shop.items",
                    #"[{"$match": {"_id": {"$gte": 0}}}, {"$project": {"text": 1}}]"#,
                ],
                output: printed)
            peak = 0
            try await eventually("all documents are printed", within: .seconds(60)) {
                peak = max(peak, Self.peakKilobytes(printing.pid))
                let size = try FileManager.default.attributesOfItem(atPath: printed)[.size] as? NSNumber
                return size?.intValue ?? 0 > Self.count * padding.utf8.count
            }
            #expect(await printing.wait() == .exited(0))
            #expect(peak > 0 && peak < 65_000, "\(peak) kB")
        }
    }

    @Test func `a collection that can't be imported costs no other one`() async throws {
        try await DumpFixture.with { fixture in
            _ = try fixture.dump(try DumpFixture.documents(3), as: "items")
            try await fixture.deploy()
            let folder = "\(fixture.folder)/in/Shop"
            try Data(try DumpFixture.documents(1)).write(to: URL(fileURLWithPath: "\(folder)/a%24b.bson"))
            try #require(mkfifo("\(folder)/feed.bson", 0o644) == 0)
            let run = try fixture.start()
            #expect(await run.wait() == .exited(1))
            #expect(try await fixture.collection("items").countDocuments() == 3)
            let output = try String(contentsOfFile: "\(fixture.folder)/output", encoding: .utf8)
            #expect(output.contains("not everything was imported of Shop.a$b, Shop.feed"), "\(output)")
        }
    }

    @Test func `a dump with an index of places is imported, with a warning and the same status each time`() async throws
    {
        try await DumpFixture.with { fixture in
            _ = try fixture.dump(try DumpFixture.documents(3), as: "items")
            let metadata = #"{"indexes": [{"v": 2, "key": {"at": "2dsphere"}, "name": "at_2dsphere"}]}"#
            try Data(metadata.utf8).write(
                to: URL(fileURLWithPath: "\(fixture.folder)/in/Shop/items.metadata.json"))
            try await fixture.deploy()
            for said in ["warning: index at_2dsphere: it is only recorded", "already imported"] {
                #expect(await (try fixture.start()).wait() == .exited(0))
                let output = try String(contentsOfFile: "\(fixture.folder)/output", encoding: .utf8)
                #expect(output.contains(said), "\(output)")
            }
        }
    }

    /// The peak memory of a process so far.
    private static func peakKilobytes(_ id: Int32) -> Int {
        guard let status = try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8) else { return 0 }
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM") }
        return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
}

extension DumpFixture {
    /// The tool imports into an app that is deployed.
    fileprivate func deploy() async throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Deploy/apps/rchat").standardized.path
        let registry = AppRegistry(client: client)
        try await registry.migrate()
        _ = try await registry.deploy(try AppDefinition(folder: folder))
    }

    fileprivate func start() throws -> ChildProcess {
        try start(["import-dump", "\(folder)/in", "--rejected", folder], output: "\(folder)/output")
    }

    fileprivate func start(_ words: [String], output: String) throws -> ChildProcess {
        var environment = CurrentEnvironment.variables
        environment["PARTITA_POSTGRES_URL"] = url
        return try ChildProcess.spawn(
            CurrentEnvironment.sibling("partita"), words + ["--app", Self.app], environment: environment,
            output: .file(output))
    }

    fileprivate func imported() async throws -> Int {
        try await client.query("select coalesce(sum(inserted), 0)::bigint from partita.imports").first?.decode(0) ?? 0
    }
}

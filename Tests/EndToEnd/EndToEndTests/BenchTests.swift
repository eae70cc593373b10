import ChildProcesses
import DocumentModel
import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// `partita bench` against a running system.
    @Suite struct BenchTests {
        private static func bench(_ arguments: [String]) async throws -> CapturedRun {
            try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["bench"] + arguments,
                environment: CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") })
        }

        private static let message = #"{"author": "ada@example.org", "text": "hello", "timestamp": {"$date": 1000}}"#

        @Test func `each write is answered and arrives at each other device, and no document is left`() async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("bench", on: system)
            let name = "user=\(ada.session.userId)"
            let run = try await Self.bench([
                name, "--app", "rchat", "--data", system.directory, "--user", ada.email, "--password",
                TestDevice.password,
                "--collection", "ChatMessage", "--document", Self.message, "--writers", "3", "--readers", "2",
                "--rate", "30", "--seconds", "2", "--json",
            ])
            #expect(run.status == .exited(0), "\(run.output)")
            let rows = try run.output.split(separator: "\n").map { try ExtendedJSON.parseDocument(String($0)) }
            #expect(
                rows.compactMap { $0["figure"]?.stringValue } == [
                    "writes", "write-to-ack", "write-to-arrival", "ping-to-pong",
                ])
            #expect(rows[0]["acknowledged"]?.intValue == 60 && rows[0]["refused"]?.intValue == 0)
            // Each write arrives at the two other writers, and the two readers.
            #expect(rows[0]["arrivals"]?.intValue == 240 && rows[2]["count"]?.intValue == 240)
            for row in rows[1...] {
                let figures = ["p50", "p90", "p99", "max"].compactMap { row[$0]?.doubleValue }
                #expect(figures.count == 4 && figures == figures.sorted() && figures[0] > 0, "\(row)")
            }
            // An answer takes longer than a sign of life, which needs no commit.
            #expect(try #require(rows[1]["p50"]?.doubleValue) > #require(rows[3]["p50"]?.doubleValue))
            let left = try await system.query(
                #"select count(*) from "rchat/RChat"."ChatMessage" where partition = $1"#, [.text("s:" + name)])
            let count: Int64? = try left.first?.decode(0)
            #expect(count == 0)
            try await ada.close()
        }

        @Test func `a signal ends it, and no document is left`() async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("bench", on: system)
            let name = "user=\(ada.session.userId)"
            let count = {
                let rows = try await system.query(
                    #"select count(*) from "rchat/RChat"."ChatMessage" where partition = $1"#, [.text("s:" + name)])
                return try rows.first?.decode(0, as: Int64.self)
            }
            let bench = try ChildProcess.spawn(
                CurrentEnvironment.sibling("partita"),
                [
                    "bench", name, "--app", "rchat", "--data", system.directory, "--user", ada.email, "--password",
                    TestDevice.password, "--collection", "ChatMessage", "--document", Self.message, "--rate", "40",
                    "--seconds", "300",
                ], output: .file(system.directory + "/logs/bench.log"))
            try await eventually("it writes", within: .seconds(60)) { try await count() ?? 0 > 20 }
            bench.signal(SIGINT)
            #expect(await bench.wait() == .exited(130))
            #expect(try await count() == 0)
            try await ada.close()
        }

        @Test func `what can't be measured is said`() async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("bench", on: system)
            let own = [
                "--app", "rchat", "--data", system.directory, "--user", ada.email, "--password", TestDevice.password,
            ]
            let refused = try await Self.bench(
                ["user=\(ada.session.userId)", "--collection", "ChatMessage", "--seconds", "1"] + own)
            #expect(refused.status == .exited(1))
            #expect(refused.output.contains("schemaViolation"), "\(refused.output)")
            let foreign = try await Self.bench(["user=somebody", "--collection", "ChatMessage"] + own)
            #expect(foreign.status == .exited(1))
            #expect(foreign.output.contains("s:user=somebody"), "\(foreign.output)")
            for (wrong, word) in [("--rate", "fast"), ("--ids", "uuid"), ("--document", "[]"), ("--partitions", "2")] {
                let run = try await Self.bench(["x", "--collection", "ChatMessage", wrong, word] + own)
                #expect(run.status == .exited(64) && run.output.contains(wrong), "\(run.output)")
            }
            try await ada.close()
        }
    }
}

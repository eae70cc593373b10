import ChildProcesses
import Foundation
import LocalEngines
import Postgres
import TestSupport
import Testing

extension EndToEnd {
    /// `partita chaos`: its own system survives what it does to it, and it sees what it has to see.
    struct ChaosTests {
        @Test(.needsRealBroker) func `nothing is lost through the faults of a fixed seed`() async throws {
            let run = try await Run(seed: 1, minutes: "0.75")
            let status = await run.process.wait()
            let output = try run.output
            #expect(status == .exited(0), "\(output)")
            for check in Run.checks { #expect(output.contains("ok     \(check)"), "\(output)") }
            #expect(output.contains("Everything held, with seed 1."))
        }

        @Test(.needsRealBroker) func `devices give back what Postgres loses by a snapshot or a failover`() async throws
        {
            let run = try await Run(seed: 3, minutes: "0.75", more: ["--lose-commits"])
            let status = await run.process.wait()
            let output = try run.output
            #expect(status == .exited(0), "\(output)")
            #expect(output.contains("snapshot postgres for ") || output.contains("failover postgres for "), "\(output)")
            for check in Run.checks where check != "fence" { #expect(output.contains("ok     \(check)"), "\(output)") }
            #expect(!output.contains("ok     fence"), "nobody was removed")
        }

        @Test func `the checks see what was changed behind the system's back, and name it`() async throws {
            let run = try await Run(seed: 2, minutes: "0.2", more: ["--rest", "40"])
            // A device that connects again is mended by what it says that it holds: only after the faults does nothing connect.
            try await eventually("the faults are over", within: .seconds(90)) {
                let output = try run.output
                guard run.process.exitStatus == nil else { throw SystemFailure(description: output) }
                return output.contains("healing")
            }
            // A counter that is one too high, a document that is gone with its history's knowledge, and some without.
            try await run.query(
                """
                update "chaos/Chaos"."Counter" set document = jsonb_set(document, '{total}', '1000000') where _id = 's:counter-team-1'
                """)
            let gone = #"(select _id from "chaos/Chaos"."Entry" where partition = 's:team-1' order by _id limit 1)"#
            try await run.query(#"delete from "chaos/Chaos"."Entry" where _id = \#(gone)"#)
            // Until the last device has come back and been mended.
            while run.process.exitStatus == nil, !(try run.output).contains("waiting until triggers have run") {
                try await run.query(
                    """
                    with hidden as materialized (select set_config('partita.writer', 'library', true) as name)
                    delete from "chaos/Chaos"."Entry" where (select name from hidden) = 'library' and _id = \(gone)
                    """)
                try await Task.sleep(for: .milliseconds(250))
            }
            #expect(await run.process.wait() == .exited(1))
            let output = try run.output
            for check in ["acknowledged", "increments", "convergence"] {
                #expect(output.contains("FAILED \(check)"), "\(check): \(output)")
            }
            #expect(output.contains("seed 2 violates: acknowledged, "), "\(output)")
            #expect(output.contains("counter-team-1 has "))
        }

        @Test func `it begins with an empty directory and engines of its own`() async throws {
            let directory = NSTemporaryDirectory() + "partita-e2e-chaos-used-\(getpid())"
            try FileManager.default.createDirectory(atPath: directory + "/engines", withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: directory) }  // nothing depends on the removal
            let used = try await Self.tool(["--data", directory])
            #expect(used.status == .exited(64))
            #expect(used.output.contains("has a system already"), "\(used.output)")
            let shared = try await Self.tool([], ["PARTITA_REDIS_URL": "redis://127.0.0.1:1"])
            #expect(shared.status == .exited(64))
            #expect(shared.output.contains("unset PARTITA_REDIS_URL"), "\(shared.output)")
            #expect(try await Self.tool(["--minutes", "0"]).status == .exited(64))
            #expect(try await Self.tool(["--seed", "x"]).status == .exited(64))
        }

        private static func tool(_ words: [String], _ more: [String: String] = [:]) async throws -> CapturedRun {
            let environment = CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") }
            return try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["chaos"] + words, environment: environment.merging(more) { $1 })
        }

        /// A run of the tool, with a system of its own.
        private struct Run {
            static let checks = [
                "quiet", "acknowledged", "increments", "last-write", "convergence", "fence", "triggers", "store",
                "processes", "logs", "memory",
            ]

            let process: ChildProcess
            private let log: String
            private let postgres: String

            init(seed: Int, minutes: String, more: [String] = []) async throws {
                let directory = NSTemporaryDirectory() + "partita-e2e-chaos-\(seed)-\(getpid())"
                try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
                let port = try RunningSystem.freePorts()
                log = directory + "/chaos.log"
                postgres = "postgres://partita@127.0.0.1:\(port + 10)/partita"
                process = try ChildProcess.spawn(
                    CurrentEnvironment.sibling("partita"),
                    [
                        "chaos", "--seed", "\(seed)", "--minutes", minutes, "--data", directory, "--port", "\(port)",
                        "--devices", "4", "--proxy", RunningSystem.proxyTemplate,
                    ] + more, environment: CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") },
                    output: .file(log))
                SystemAtExit.remember(process, directory: directory)
            }

            var output: String {
                get throws { try String(contentsOfFile: log, encoding: .utf8) }
            }

            /// Postgres may be killed at any time.
            @discardableResult
            func query(_ sql: String) async throws -> PostgresRows {
                var settings = PostgresConfiguration(url: postgres)
                settings.connections = 1
                let end = ContinuousClock.now + .seconds(30)
                while true {
                    do {
                        return try await PostgresClient.withClient(settings, on: RunningSystem.loops) {
                            try await $0.query(sql)
                        }
                    } catch  where ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(300)) }
                }
            }
        }
    }
}

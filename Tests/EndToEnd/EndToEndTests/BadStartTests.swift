import ChildProcesses
import Foundation
import LocalEngines
import TestSupport
import Testing

extension EndToEnd {
    /// Services that can't start, or not yet.
    struct BadStartTests {
        @Test(arguments: RunningSystem.services)
        func `a port in use ends a service with one line that names it`(_ service: String) async throws {
            let system = try await RunningSystem.shared()
            let port = system.port(of: "auth")
            let run = try await CapturedRun.run(
                CurrentEnvironment.sibling(service), environment: try environment(system, port: port))
            #expect(run.status == .exited(69))
            let last = run.output.split(separator: "\n").last.map(String.init) ?? ""
            #expect(last.hasPrefix("\(service): port \(port) is in use: "), "\(run.output)")
        }

        @Test func `a service without a setting that it needs says which`() async throws {
            let run = try await CapturedRun.run(CurrentEnvironment.sibling("sync-gateway"), environment: [:])
            #expect(run.status == .exited(78))
            #expect(run.output.contains("must be set, here or as PARTITA_"), "\(run.output)")
            #expect(run.output.split(separator: "\n").count == 1)
        }

        @Test func `a service waits for Redis, says so, and goes on when it comes`() async throws {
            let system = try await RunningSystem.shared()
            let redis = RedisEngine(root: system.directory + "/late", port: try LocalPort.free())
            let port = try LocalPort.free()
            let gateway = try start(
                "sync-gateway", try environment(system, port: port, ["PARTITA_REDIS_URL": redis.url]), system)
            try await saysThatItWaits(for: "redis", gateway, port: port, system)
            try await redis.start()
            try await system.waitUntilReady("http://127.0.0.1:\(port)")
            // And the same again when it goes away later.
            await redis.stop()
            try await saysThatItWaits(for: "redis", gateway, port: port, system)
            try await redis.start()
            try await system.waitUntilReady("http://127.0.0.1:\(port)")
            #expect(await gateway.terminate(grace: .seconds(30)) == .exited(0))
            await redis.stop()
        }

        @Test(arguments: ["auth", "permissions", "trigger-workers"])
        func `a service waits for Postgres, says so, and ends when it is told to`(_ service: String) async throws {
            let system = try await RunningSystem.shared()
            let port = try LocalPort.free()
            let nobody = "postgres://partita@127.0.0.1:\(try LocalPort.free())/partita"
            let process = try start(
                service, try environment(system, port: port, ["PARTITA_POSTGRES_URL": nobody]), system)
            try await saysThatItWaits(for: "postgres", process, port: port, system)
            #expect(await process.terminate(grace: .seconds(30)) == .exited(0))
        }

        private func saysThatItWaits(
            for engine: String, _ process: ChildProcess, port: Int, _ system: RunningSystem
        ) async throws {
            var last = ""
            do {
                try await eventually("\(process.name) says that it waits for \(engine)", within: .seconds(20)) {
                    if let status = process.exitStatus { throw SystemFailure(description: "it ended: \(status)") }
                    let (status, text) = await system.readiness("http://127.0.0.1:\(port)")
                    last = text
                    return status == 503 && text.contains(#""\#(engine)":{"#) && Self.isMissing(engine, in: text)
                }
            } catch {
                throw SystemFailure(description: "\(error); it says: \(last)\n\(system.logEnds())")
            }
        }

        private struct Report: Decodable {
            struct Component: Decodable { var status: String }
            var components: [String: Component]
        }

        private static func isMissing(_ engine: String, in text: String) -> Bool {
            let report = try? JSONDecoder().decode(Report.self, from: Data(text.utf8))  // something else says nothing
            return report?.components[engine]?.status == "notReady"
        }

        private func start(_ service: String, _ environment: [String: String], _ system: RunningSystem) throws
            -> ChildProcess
        {
            let process = try ChildProcess.spawn(
                CurrentEnvironment.sibling(service), environment: environment,
                output: .file("\(system.directory)/logs/second-\(service).log"))
            SystemAtExit.remember(process)
            return process
        }

        /// A second instance of a service beside the system's own.
        private func environment(
            _ system: RunningSystem, port: Int, _ changes: [String: String] = [:]
        ) throws -> [String: String] {
            let own = [
                "PARTITA_HTTP_PORT": "\(port)", "PARTITA_HTTP_ADDRESS": "127.0.0.1", "PARTITA_LOOPS": "1",
                "PARTITA_POSTGRES_URL": try system.setting("postgres.url"),
                "PARTITA_REDIS_URL": try system.setting("redis.url"),
                "PARTITA_KAFKA_BOOTSTRAP": try system.setting("kafka.bootstrap"),
                "PARTITA_KAFKA_EMBEDDED": try system.setting("kafka.embedded"),
                "PARTITA_MAIL_FOLDER": system.directory + "/mail",
                "PARTITA_MEDIA_DIRECTORY": system.directory + "/media",
                "PARTITA_MEDIA_PUBLIC_URL": system.url(of: "media-offload"),
                "PARTITA_SYNC_URL": system.url(of: "sync-gateway").replacing("http://", with: "ws://"),
            ]
            let given = CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") }
            return given.merging(own) { $1 }.merging(changes) { $1 }
        }
    }
}

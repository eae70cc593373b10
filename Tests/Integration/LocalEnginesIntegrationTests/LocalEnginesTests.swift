import ChildProcesses
import Foundation
import TestSupport
import Testing

@testable import LocalEngines

struct LocalEnginesTests {
    @Test func `postgres starts on an empty directory, and finds its data after kill -9`() async throws {
        try await withRoot { root in
            let first = PostgresEngine(root: root, port: try LocalPort.free())
            try await first.start()
            try await psql(first.url, "create table kept(a int); insert into kept values (7)")
            await first.signal(SIGKILL)
            await first.waitForExit()

            let second = PostgresEngine(root: root, port: try LocalPort.free())
            try await eventually(
                "the killed server's backends are gone", within: .seconds(20), every: .milliseconds(250)
            ) {
                do { try await second.start(); return true } catch { return false }
            }
            #expect(try await psql(second.url, "select a from kept") == "7\n")
            await second.stop()
        }
    }

    @Test func `postgres isn't made anew while its data directory is away`() async throws {
        try await withRoot { root in
            let engine = PostgresEngine(root: root, port: try LocalPort.free())
            try await engine.start()
            try await psql(engine.url, "create table kept(a int); insert into kept values (7)")
            await engine.stop()
            let data = "\(root)/postgres/data"
            try FileManager.default.moveItem(atPath: data, toPath: data + ".away")
            await #expect { try await engine.start() } throws: { "\($0)".contains("/postgres/data is gone or empty") }
            #expect(!FileManager.default.fileExists(atPath: data))
            try FileManager.default.moveItem(atPath: data + ".away", toPath: data)
            try await engine.start()
            #expect(try await psql(engine.url, "select a from kept") == "7\n")
            await engine.stop()
        }
    }

    @Test func `postgres starts on a data directory that a kill has left half made`() async throws {
        try await withRoot { root in
            let half = PostgresEngine(root: root, port: try LocalPort.free())
            let start = Task { try await half.start() }
            let data = "\(root)/postgres/data"
            try await eventually("initdb has begun", within: patience, every: .milliseconds(1)) {
                FileManager.default.fileExists(atPath: data + ".new/PG_VERSION")
            }
            let copy = try FileManager.default.contentsOfDirectory(atPath: data + ".new")
            try await start.value
            await half.stop()
            // As it was at that moment, when the process that waited for initdb was killed.
            try FileManager.default.removeItem(atPath: data)
            try FileManager.default.createDirectory(atPath: data + ".new", withIntermediateDirectories: true)
            for name in copy { try Data().write(to: URL(fileURLWithPath: "\(data).new/\(name)")) }

            let next = PostgresEngine(root: root, port: half.port)
            try await next.start()
            #expect(try await psql(next.url, "select 1") == "1\n")
            await next.stop()
        }
    }

    @Test func `a data directory is used only by the version of Postgres that made it`() async throws {
        try await withRoot { root in
            let engine = PostgresEngine(root: root, port: try LocalPort.free(), isDurable: false)
            try await engine.start()
            await engine.stop()
            let file = "\(root)/postgres/data/PG_VERSION"
            let version = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(
                in: .whitespacesAndNewlines)
            let programs = try #require(await PostgresPrograms.directory(ofServer: version))
            #expect(try await "\(PostgresPrograms.majorVersion(of: programs + "/postgres"))" == version)
            try "8\n".write(toFile: file, atomically: false, encoding: .utf8)
            await #expect { try await engine.start() } throws: {
                let text = "\($0)"
                return text.contains("is of Postgres 8, whose") && text.contains("install the package postgresql-8. ")
            }
            try "no version\n".write(toFile: file, atomically: false, encoding: .utf8)
            await #expect { try await engine.start() } throws: {
                let text = "\($0)"
                return text.contains("PG_VERSION is damaged") && !text.contains("package")
            }
        }
    }

    @Test func `an engine that was left running by a killed parent is replaced`() async throws {
        try await withRoot { root in
            let first = RedisEngine(root: root, port: try LocalPort.free())
            try await first.start()
            let second = RedisEngine(root: root, port: first.port)
            try await second.start()
            await first.waitForExit()
            #expect(LocalPort.isTaken(second.port))
            await second.stop()
        }
    }

    @Test func `a program that already listens on the port isn't taken for the engine`() async throws {
        try await withRoot { root in
            let other = RedisEngine(root: root + "/other", port: try LocalPort.free())
            try await other.start()
            let port = other.port
            let engines: [any Engine] = [
                PostgresEngine(root: root, port: port), RedisEngine(root: root, port: port),
                EmbeddedBrokerEngine(tool: CurrentEnvironment.sibling("partita"), root: root, port: port),
                KafkaEngine(home: root, root: root, port: try LocalPort.free(), controllerPort: port),
            ]
            for engine in engines {
                let error = await #expect(throws: EngineError.self) { try await engine.start() }
                #expect(error?.description.hasPrefix("\(engine.name): port \(port) is in use; ") == true)
            }
            await other.stop()
        }
    }

    @Test func `a server's port is outside the kernel's range for connections, and free`() throws {
        let file = try String(contentsOfFile: "/proc/sys/net/ipv4/ip_local_port_range", encoding: .utf8)
        let handedOut = file.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        try #require(handedOut.count == 2)
        var given: Set<Int> = []
        for count in [1, 3, 15] + Array(repeating: 2, count: 200) {
            let first = try LocalPort.free(count)
            for port in first..<first + count {
                #expect(port < handedOut[0] || port > handedOut[1])
                #expect(given.insert(port).inserted)
            }
        }
    }

    @Test func `ports of one process aren't given to another one`() async throws {
        let port = try LocalPort.free(15)
        let other = """
            import fcntl, sys
            claims = open(sys.argv[1], "r+")
            for port in map(int, sys.argv[2:]):
                try:
                    fcntl.lockf(claims, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
                    print("free")
                except BlockingIOError:
                    print("taken")
            """
        let run = try await CapturedRun.run(
            "python3", ["-c", other, LocalPort.claimsFile, "\(port)", "\(port + 14)", "1"])
        #expect(run.output == "taken\ntaken\nfree\n")
    }

    @Test func `a Kafka cluster's id is never taken for an option`() {
        for _ in 0..<1000 { #expect(KafkaEngine.clusterID().first?.isLetter == true) }
    }

    private func withRoot(_ body: (String) async throws -> Void) async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("engines-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        chmod(root, 0o755)
        defer { try? FileManager.default.removeItem(atPath: root) }
        try await body(root)
    }

    @discardableResult
    private func psql(_ url: String, _ sql: String) async throws -> String {
        let run = try await CapturedRun.run("psql", [url, "-Atq", "-c", sql])
        #expect(run.status.isSuccess, "\(run.output)")
        return run.output
    }
}

import ChildProcesses
import Foundation
import Glibc
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
                CurrentEnvironment.sibling(service), environment: try system.environment(port: port))
            #expect(run.status == .exited(69))
            let last = run.output.split(separator: "\n").last.map(String.init) ?? ""
            #expect(last.hasPrefix("\(service): port \(port) is in use: "), "\(run.output)")
        }

        @Test(arguments: [
            ("PARTITA_POSTGRES_URL", ""), ("PARTITA_POSTGRES_URL", "127.0.0.1:5432/partita"),
            ("PARTITA_POSTGRES_URL", "postgres://a@127.0.0.1:99999/partita"),
            ("PARTITA_POSTGRES_URL", "postgres://a@127.0.0.1/partita?sslmode=requires"),
            ("PARTITA_POSTGRES_URL", "postgres://a:HID/DEN#x@127.0.0.1:5432/partita"),
            ("PARTITA_REDIS_URL", ""), ("PARTITA_REDIS_URL", "http://127.0.0.1:6379"),
            ("PARTITA_REDIS_URL", "redis://127.0.0.1:6379/main"), ("PARTITA_REDIS_URL", "127.0.0.1:6379"),
            ("PARTITA_KAFKA_BOOTSTRAP", "kafka://127.0.0.1:9092"), ("PARTITA_KAFKA_BOOTSTRAP", "127.0.0.1"),
            ("PARTITA_POSTGRES_URL", "postgres://a@127.0.0.1/b?sslmode=verify-full&sslrootcert=/nowhere/ca.pem"),
            ("PARTITA_REDIS_URL", "rediss://127.0.0.1:6379?cacert=/nowhere/ca.pem"),
            ("PARTITA_KAFKA_TLS_CA", "/nowhere/ca.pem"),
            ("PARTITA_KAFKA_BOOTSTRAP", ""), ("PARTITA_KAFKA_POOL", ""), ("PARTITA_KAFKA_POOL", "a b"),
        ])
        func `a setting that can never work ends a service at once, with its name and nothing of a password`(
            _ variable: String, _ value: String
        ) async throws {
            let system = try await RunningSystem.shared()
            var environment = try system.environment(port: try LocalPort.free())
            environment[variable] = value
            let start = ContinuousClock.now
            let run = try await CapturedRun.run(CurrentEnvironment.sibling("sync-gateway"), environment: environment)
            #expect(run.status == .exited(78), "\(run.output)")
            #expect(ContinuousClock.now - start < .seconds(5))
            #expect(run.output.contains(variable), "\(run.output)")
            #expect(!run.output.contains("HID") && !run.output.contains("DEN"), "\(run.output)")
        }

        @Test(arguments: [
            ("POSTGRES", "postgres://partita:HID@127.0.0.1:5432/partita"), ("REDIS", "redis://:HID@127.0.0.1:6379"),
        ])
        func `a password in a URL and another in its own setting aren't both taken`(
            _ engine: String, _ url: String
        ) async throws {
            let system = try await RunningSystem.shared()
            let given = ["PARTITA_\(engine)_URL": url, "PARTITA_\(engine)_PASSWORD": "DEN"]
            let environment = try system.environment(port: try LocalPort.free()).merging(given) { $1 }
            let run = try await CapturedRun.run(CurrentEnvironment.sibling("sync-gateway"), environment: environment)
            #expect(run.status == .exited(78), "\(run.output)")
            #expect(run.output.contains("\(engine.lowercased()).password: is set, and the URL has"), "\(run.output)")
            #expect(!run.output.contains("HID") && !run.output.contains("DEN"), "\(run.output)")
        }

        @Test func `up ends when a service refuses its settings`() async throws {
            let directory = FileManager.default.temporaryDirectory.path + "/partita-e2e-refused-\(getpid())"
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let given = CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") }
                .merging(["PARTITA_LEASE_DURATION": "nonsense"]) { $1 }
            let run = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"),
                ["up", "--data", directory, "--port", "\(try RunningSystem.freePorts())", "--app", TestApp.rchat],
                environment: given)
            #expect(run.status == .exited(1), "\(run.output)")
            #expect(run.output.contains("PARTITA_LEASE_DURATION"), "\(run.output)")
            #expect(!run.output.contains("starting it again"), "\(run.output)")
        }

        @Test func `a service that can't write to standard error ends with the status of its failure`() async throws {
            let service = CurrentEnvironment.sibling("auth")
            let run = try await CapturedRun.run(
                "sh", ["-c", "exec '\(service)' 2>/dev/full"], environment: ["PARTITA_HTTP_PORT": "70000"])
            #expect(run.status == .exited(78), "\(run.status)")
        }

        @Test func `a second system on the same data or ports reports that and leaves the first alone`() async throws {
            let system = try await RunningSystem.shared()
            let processes = try system.processes
            func up(_ arguments: [String]) async throws -> CapturedRun {
                let given = CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") }
                return try await CapturedRun.run(
                    CurrentEnvironment.sibling("partita"), ["up"] + arguments, environment: given)
            }
            let sameData = try await up(["--reset", "--data", system.directory, "--port", "\(try LocalPort.free())"])
            #expect(sameData.status == .exited(1))
            #expect(sameData.output.contains("a system runs in \(system.directory) already"), "\(sameData.output)")
            let other = system.directory + "/other"
            let samePorts = try await up(["--data", other, "--port", "\(system.basePort)"])
            #expect(samePorts.status == .exited(1))
            #expect(samePorts.output.contains("auth: port \(system.basePort) is in use"), "\(samePorts.output)")
            #expect(!FileManager.default.fileExists(atPath: other))
            try await system.waitUntilReady()
            #expect(try system.processes == processes)
        }

        @Test func `a missing app folder is reported before anything is started`() async throws {
            let directory = FileManager.default.temporaryDirectory.path + "/partita-e2e-noapp-\(getpid())"
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let up = ["up", "--data", directory, "--port", "\(try RunningSystem.freePorts())"]
            let given = CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") }
            let run = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), up + ["--app", "/nonexistent"], environment: given)
            #expect(run.status == .exited(1))
            #expect(run.output.contains("partita: there is no folder /nonexistent\n"), "\(run.output)")
            #expect(!run.output.contains("starting"))
            let host = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), up + ["--host", "http://here"], environment: given)
            #expect(host.status == .exited(64) && host.output.contains("--host takes a name"), "\(host.output)")
        }

        @Test func `what a deployment says of the app is shown at the start`() async throws {
            let directory = FileManager.default.temporaryDirectory.path + "/partita-e2e-warned-\(getpid())"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            chmod(directory, 0o755)
            let app = directory + "/app"
            try FileManager.default.copyItem(atPath: TestApp.rchat, toPath: app)
            try FileManager.default.createDirectory(atPath: app + "/graphql", withIntermediateDirectories: true)
            try "{}".write(toFile: app + "/graphql/config.json", atomically: true, encoding: .utf8)
            let up = try ChildProcess.spawn(
                CurrentEnvironment.sibling("partita"),
                ["up", "--data", directory + "/data", "--port", "\(try RunningSystem.freePorts())", "--app", app],
                environment: CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") },
                output: .file(directory + "/up.log"))
            SystemAtExit.remember(up, directory: directory)
            func log() -> String {
                String(decoding: FileManager.default.contents(atPath: directory + "/up.log") ?? Data(), as: UTF8.self)
            }
            try await eventually("the warning and the report are shown", within: .seconds(60)) {
                if let status = up.exitStatus { throw SystemFailure(description: "`partita up` ended: \(status)") }
                let log = log()
                return log.contains("graphql/config.json:1: warning feature-not-served: GraphQL isn't served")
                    && log.contains("    GraphQL           graphql/config.json:1\n")
            }
            up.signal(SIGINT)
            _ = await up.wait()
        }

        @Test func `a folder that would take documents from devices doesn't keep a system from starting`() async throws
        {
            let directory = FileManager.default.temporaryDirectory.path + "/partita-e2e-lacking-\(getpid())"
            let app = directory + "/app", schema = app + "/data_sources/mongodb-atlas/RChat/Chatster"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            chmod(directory, 0o755)
            try FileManager.default.copyItem(atPath: TestApp.rchat, toPath: app)
            let options = ["--data", directory + "/data"], port = "\(try RunningSystem.freePorts())"
            func log(_ number: Int) -> String {
                let file = "\(directory)/up-\(number).log"
                return String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
            }
            func start(_ number: Int) async throws -> ChildProcess {
                let up = try ChildProcess.spawn(
                    CurrentEnvironment.sibling("partita"),
                    ["up", "--port", port, "--app", app, "--proxy", RunningSystem.proxyTemplate] + options,
                    // TLS ends before the proxy.
                    environment: CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") }
                        .merging(["PARTITA_PUBLIC_URL": "https://apps.example.com"]) { $1 },
                    output: .file("\(directory)/up-\(number).log"))
                SystemAtExit.remember(up, directory: directory)
                try await eventually("the system runs", within: .seconds(60)) {
                    if let status = up.exitStatus {
                        throw SystemFailure(description: "ended: \(status)\n\(log(number))")
                    }
                    return log(number).contains("Ctrl-C stops everything")
                }
                return up
            }
            let first = try await start(1)
            #expect(log(1).contains("the base URL for clients is https://apps.example.com"))
            let auth = try String(contentsOfFile: directory + "/data/run/auth.pid", encoding: .utf8)
            let variables = try String(
                contentsOfFile: "/proc/\(auth.trimmingCharacters(in: .whitespacesAndNewlines))/environ", encoding: .utf8
            )
            for setting in ["PUBLIC_URL=https", "MEDIA_PUBLIC_URL=https", "SYNC_URL=wss"] {
                #expect("\0\(variables)".contains("\0PARTITA_\(setting)://apps.example.com\0"), "\(setting)")
            }
            let inserted = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"),
                [
                    "documents", "insert", "RChat.Chatster",
                    #"{"_id": "c", "partition": "all-users=all-the-users", "userName": "c", "presence": "On-Line"}"#,
                    "--app", "rchat",
                ] + options)
            #expect(inserted.status.isSuccess, "\(inserted.output)")
            first.signal(SIGINT)
            _ = await first.wait()
            try FileManager.default.removeItem(atPath: schema + "/schema.json")
            let second = try await start(2)
            #expect(log(2).contains("isn't deployed, and the version before goes on"), "\(log(2))")
            second.signal(SIGINT)
            _ = await second.wait()
        }

        @Test func `Ctrl-C during the start stops what has been started and isn't an error`()
            async throws
        {
            let directory = FileManager.default.temporaryDirectory.path + "/partita-e2e-stopped-\(getpid())"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            chmod(directory, 0o755)
            let port = try RunningSystem.freePorts()
            let up = try ChildProcess.spawn(
                CurrentEnvironment.sibling("partita"),
                ["up", "--data", directory, "--port", "\(port)", "--app", TestApp.rchat],
                environment: CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") },
                output: .file(directory + "/up.log"))
            SystemAtExit.remember(up, directory: directory)
            try await eventually("it has begun", within: patience) {
                FileManager.default.fileExists(atPath: directory + "/engines/postgres/pid")
            }
            up.signal(SIGINT)
            #expect(await up.wait() == .exited(130))
            let log = try String(contentsOfFile: directory + "/up.log", encoding: .utf8)
            #expect(log.hasSuffix("Stopping, after Ctrl-C\n"), "\(log)")
            #expect(try String(contentsOfFile: directory + "/lock", encoding: .utf8).isEmpty, "nobody has it")
            #expect(!LocalPort.isTaken(port + 10))
        }

        @Test func `the tool says why Postgres doesn't answer, without the password`() async throws {
            let given = CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") }
            let port = try LocalPort.free()
            let run = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["setup", "--data", "/nonexistent"],
                environment: given.merging([
                    "PARTITA_POSTGRES_URL": "postgres://partita:secret@127.0.0.1:\(port)/partita",
                    "PARTITA_KAFKA_BOOTSTRAP": "127.0.0.1:1",
                ]) { $1 })
            #expect(run.status == .exited(1))
            #expect(run.output.hasPrefix("partita: Postgres can't be reached at 127.0.0.1:\(port): "), "\(run.output)")
            #expect(run.output.contains("Connection refused"), "\(run.output)")
            #expect(!run.output.contains("secret"))
        }

        @Test func `a service without a required setting names it`() async throws {
            let run = try await CapturedRun.run(CurrentEnvironment.sibling("sync-gateway"), environment: [:])
            #expect(run.status == .exited(78))
            #expect(run.output.contains("must be set, here or as PARTITA_"), "\(run.output)")
            #expect(run.output.split(separator: "\n").count == 1)
        }

        @Test func `a gateway runs without Redis, reports that, and uses it again when it is up`() async throws {
            let system = try await RunningSystem.shared()
            let redis = RedisEngine(root: system.directory + "/late", port: try LocalPort.free())
            let port = try LocalPort.free()
            let gateway = try system.startSecond("sync-gateway", port: port, ["PARTITA_REDIS_URL": redis.url])
            try await says(#""status":"degraded""#, 200, without: "redis", gateway, port: port, system)
            try await redis.start()
            try await hasEverything(gateway, port: port, system)
            // And the same again when it becomes unavailable later.
            await redis.stop()
            try await says(#""status":"degraded""#, 200, without: "redis", gateway, port: port, system)
            try await redis.start()
            try await hasEverything(gateway, port: port, system)
            #expect(await gateway.terminate(grace: .seconds(30)) == .exited(0))
            await redis.stop()
        }

        @Test(arguments: ["auth", "permissions", "trigger-workers"])
        func `a service waits for Postgres, reports that, and ends when it is stopped`(_ service: String) async throws {
            let system = try await RunningSystem.shared()
            let port = try LocalPort.free()
            let nobody = "postgres://partita@127.0.0.1:\(try LocalPort.free())/partita"
            let process = try system.startSecond(service, port: port, ["PARTITA_POSTGRES_URL": nobody])
            try await says(#""status":"notReady""#, 503, without: "postgres", process, port: port, system)
            #expect(await process.terminate(grace: .seconds(30)) == .exited(0))
        }

        /// Services with a database, a broker and topics of their own, so that other tests don't miss what they relay.
        @Test func `all services wait for the broker, report that, and begin when it is up`() async throws {
            let system = try await RunningSystem.shared()
            let root = system.directory + "/late", database = "late"
            let broker = try TestEngines.broker(root: root)
            let url = try system.setting("postgres.url")
            let made = try await CapturedRun.run("psql", [url, "-q", "-c", "create database \(database)"])
            guard made.status.isSuccess else { throw SystemFailure(description: made.output) }
            let own = [
                "PARTITA_KAFKA_BOOTSTRAP": broker.bootstrap, "PARTITA_KAFKA_POOL": "late",
                "PARTITA_POSTGRES_URL": url.replacing(/\/[^\/]*$/, with: "/" + database),
                "PARTITA_MEDIA_DIRECTORY": root + "/media",
            ]
            var processes: [(service: String, process: ChildProcess, port: Int)] = []
            for service in RunningSystem.services {
                let port = try LocalPort.free()
                processes.append((service, try system.startSecond(service, port: port, own), port))
            }
            for (service, process, port) in processes {
                try await says(#""status":"notReady""#, 503, without: "kafka", process, port: port, system)
                try await eventually("the log of \(service) says so", within: patience) {
                    let log = try String(
                        contentsOfFile: "\(system.directory)/logs/second-\(service).log", encoding: .utf8)
                    return log.split(separator: "\n").contains {
                        $0.contains("component isn't reachable, trying again") && $0.contains(#""component":"topics""#)
                    }
                }
            }
            try await broker.engine.start()
            for (_, process, port) in processes { try await hasEverything(process, port: port, system) }
            for (_, process, _) in processes { #expect(await process.terminate(grace: .seconds(30)) == .exited(0)) }
            await broker.engine.stop()
        }

        private func hasEverything(_ process: ChildProcess, port: Int, _ system: RunningSystem) async throws {
            try await eventually("\(process.name) has everything", within: patience) {
                let (status, text) = await system.readiness("http://127.0.0.1:\(port)")
                return status == 200 && !text.contains("notReady")
            }
        }

        private func says(
            _ overall: String, _ expected: Int, without engine: String, _ process: ChildProcess, port: Int,
            _ system: RunningSystem
        ) async throws {
            var last = ""
            do {
                try await eventually("\(process.name) says that \(engine) is missing", within: patience) {
                    if let status = process.exitStatus { throw SystemFailure(description: "it ended: \(status)") }
                    let (status, text) = await system.readiness("http://127.0.0.1:\(port)")
                    last = text
                    return status == expected && text.contains(overall) && Self.isMissing(engine, in: text)
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
            let report = try? JSONDecoder().decode(Report.self, from: Data(text.utf8))  // other text is no report
            return report?.components[engine]?.status == "notReady"
        }
    }
}

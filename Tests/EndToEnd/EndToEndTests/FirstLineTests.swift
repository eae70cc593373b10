import ChildProcesses
import Foundation
import LocalEngines
import TestSupport
import Testing

extension EndToEnd {
    /// A service that can't reach an engine says why, in the first line after its start.
    struct FirstLineTests {
        struct Case: Sendable, CustomStringConvertible {
            let description: String
            let variable: String
            /// Makes the URL of the one that works.
            let url: @Sendable (RunningSystem) throws -> String
            let says: String

            init(
                _ description: String, _ variable: String, says: String,
                _ url: @escaping @Sendable (RunningSystem) throws -> String
            ) {
                self.description = description
                self.variable = variable
                self.says = says
                self.url = url
            }
        }

        static let cases = [
            Case("Postgres: wrong password", "PARTITA_POSTGRES_URL", says: "password authentication failed for user") {
                try postgres($0, user: "locked:wrong")
            },
            Case("Postgres: unknown host", "PARTITA_POSTGRES_URL", says: "could not translate host name") { _ in
                "postgres://partita@no-such-host.invalid:5432/partita"
            },
            Case("Postgres: unknown database", "PARTITA_POSTGRES_URL", says: "database \\\"nowhere\\\" does not exist")
            {
                try postgres($0, user: "partita", database: "nowhere")
            },
            Case("Postgres: nobody listens", "PARTITA_POSTGRES_URL", says: "Connection refused") { _ in
                "postgres://partita@127.0.0.1:\(try LocalPort.free())/partita"
            },
            Case("Postgres: TLS is required by the server", "PARTITA_POSTGRES_URL", says: "no encryption") {
                try postgres($0, user: "tlsonly") + "?sslmode=disable"
            },
            Case("Postgres: TLS is required by the URL", "PARTITA_POSTGRES_URL", says: "server does not support SSL") {
                try postgres($0, user: "partita") + "?sslmode=require"
            },
            Case("Redis: wrong password", "PARTITA_REDIS_URL", says: "AUTH") {
                try $0.setting("redis.url").replacing("redis://", with: "redis://:wrong@")
            },
            Case("Redis: unknown host", "PARTITA_REDIS_URL", says: "no-such-host.invalid") { _ in
                "redis://no-such-host.invalid:6379"
            },
            Case("Redis: unknown database", "PARTITA_REDIS_URL", says: "DB index is out of range") {
                try $0.setting("redis.url") + "/4711"
            },
            Case("Redis: nobody listens", "PARTITA_REDIS_URL", says: "refused") { _ in
                "redis://127.0.0.1:\(try LocalPort.free())"
            },
            Case("Kafka: unknown host", "PARTITA_KAFKA_BOOTSTRAP", says: "Failed to resolve 'no-such-host.invalid") {
                _ in
                "no-such-host.invalid:9092"
            },
            Case("Kafka: nobody listens", "PARTITA_KAFKA_BOOTSTRAP", says: "Connection refused") { _ in
                "127.0.0.1:\(try LocalPort.free())"
            },
        ]

        @Test(arguments: cases)
        func `the first line names the cause`(_ one: Case) async throws {
            let system = try await RunningSystem.shared()
            try await Self.prepare(system)
            let port = try LocalPort.free()
            let log = "\(system.directory)/logs/second-sync-gateway.log"
            let begin = (try? Data(contentsOf: URL(fileURLWithPath: log)).count) ?? 0  // of another test
            let process = try system.startSecond("sync-gateway", port: port, [one.variable: try one.url(system)])
            let lines = try await eventually("there is a line after the first", within: patience) { () -> [Line]? in
                let lines = try Self.lines(of: log, from: begin).filter {
                    $0.level != "notice" || $0.message == "starting"
                }
                return lines.count > 1 ? lines : nil
            }
            #expect(lines[0].message == "starting")
            #expect(lines[1].text.contains(one.says), "\(lines[1].text)")
            #expect(!lines[1].text.contains("wrong"), "no password")
            #expect(lines[1].text.contains(one.variable), "\(lines[1].text)")
            // Long before the wait for a connection times out, which takes ten seconds.
            let wait = lines[1].seconds - lines[0].seconds
            #expect((wait < 0 ? wait + 86_400 : wait) < 5, "\(lines[1].text)")
            #expect(await process.terminate(grace: .seconds(30)) == .exited(0))
        }

        private struct Line {
            let text: String
            let level: String
            let message: String
            /// The time of day in seconds.
            let seconds: Double
        }

        private static func lines(of file: String, from begin: Int) throws -> [Line] {
            guard let data = FileManager.default.contents(atPath: file), data.count >= begin else { return [] }
            return data.dropFirst(begin).split(separator: UInt8(ascii: "\n")).compactMap { line in
                guard let fields = try? JSONSerialization.jsonObject(with: line) as? [String: Any] else { return nil }
                // 2026-01-31T23:59:59.123456Z
                let clock = (fields["time"] as? String ?? "").dropFirst(11).dropLast().split(separator: ":").compactMap
                {
                    Double($0)
                }
                return Line(
                    text: String(decoding: line, as: UTF8.self), level: fields["level"] as? String ?? "",
                    message: fields["message"] as? String ?? "", seconds: clock.reduce(0) { $0 * 60 + $1 })
            }
        }

        private static func postgres(_ system: RunningSystem, user: String, database: String = "partita") throws
            -> String
        {
            try system.setting("postgres.url").replacing("//partita@", with: "//\(user)@").replacing(
                /\/[^\/]*$/, with: "/" + database)
        }

        /// Two users that the server accepts only under its conditions.
        private static func prepare(_ system: RunningSystem) async throws {
            let file: String = try await system.query("show hba_file").first?.decode(0) ?? ""
            for (user, line) in [
                ("locked", "host all locked 127.0.0.1/32 scram-sha-256"),
                ("tlsonly", "hostssl all tlsonly 127.0.0.1/32 trust"),
            ] {
                let known: Bool =
                    try await system.query("select exists (select from pg_roles where rolname = '\(user)')").first?
                    .decode(0) ?? false
                if known { continue }
                _ = try await system.query("create role \(user) login password 'right'")
                // Before the line that accepts everyone; the second user's first line ends the matching for it.
                let rules = try String(contentsOfFile: file, encoding: .utf8)
                let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))  // the file stays the server's
                try handle.write(contentsOf: Data("\(line)\nhost all \(user) 127.0.0.1/32 reject\n\(rules)".utf8))
                try handle.close()
                _ = try await system.query("select pg_reload_conf()")
                try await eventually("the server minds its new rules", within: patience) {
                    let url = try postgres(system, user: user + ":wrong") + "?sslmode=disable"
                    return try await !CapturedRun.run("psql", [url, "-c", ""]).status.isSuccess
                }
            }
        }
    }
}

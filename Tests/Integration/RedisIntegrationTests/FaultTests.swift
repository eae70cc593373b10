import ChildProcesses
import EventLoop
import Foundation
import Glibc
import LocalEngines
import Redis
import TestSupport
import Testing

@Suite struct FaultTests {
    @Test func `a refused connection is reported to waiting callers`() async throws {
        var configuration = try RedisConfiguration(url: "redis://127.0.0.1:1")
        configuration.unavailableTimeout = .milliseconds(200)
        try await RedisClient.withClient(configuration, on: loops) { client in
            await #expect { try await client.command(["PING"]) } throws: { ($0 as? RedisError)?.code == .unavailable }
        }
        let connection = RedisConnection(configuration: configuration, on: loops.next())
        await #expect { try await connection.connect() } throws: { ($0 as? RedisError)?.code == .connectionFailed }
        await connection.close()
    }

    @Test func `a wrong password is an error of the server`() async throws {
        var configuration = try RedisConfiguration(url: try await TestEngines.shared().redisURL)
        configuration.username = "nobody"
        configuration.password = "wrong"
        let connection = RedisConnection(configuration: configuration, on: loops.next())
        await #expect { try await connection.connect() } throws: { ($0 as? RedisError)?.prefix == "WRONGPASS" }
        await #expect(throws: RedisError.self) { try await connection.command(["PING"]) }
    }

    @Test func `a server on which a user can do no work doesn't pass a check that writes`() async throws {
        try await withClient { client, _ in
            let user = "weak\(UInt64.random(in: 0 ... .max))"
            @Sendable func allow(_ rights: String...) async throws {
                try await client.command(["ACL", "SETUSER", user] + rights)
            }
            try await allow("on", ">secret", "+ping", "+client", "+select", "+hello")
            var configuration = try RedisConfiguration(url: try await TestEngines.shared().redisURL)
            (configuration.username, configuration.password) = (user, "secret")
            try await RedisClient.withClient(configuration, on: loops) { weak in
                try await weak.check()
                let error = await #expect(throws: RedisError.self) { try await weak.check(writing: "test:ready") }
                #expect("\(try #require(error))".contains("NOPERM"))
                #expect("\(try #require(error))".contains("permissions"))
                try await allow("+@all", "~test:*")
                try await weak.check(writing: "test:ready")
                try await allow("resetkeys", "~other:*")
                await #expect(throws: RedisError.self) { try await weak.check(writing: "test:ready") }
            }
            try await client.command(["ACL", "DELUSER", user])
        }
    }

    @Test func `a client reconnects after its connection was killed`() async throws {
        try await withClient { client, _ in
            let id = try await client.command(["CLIENT", "ID"])
            try await withClient { other, _ in
                try await other.command(["CLIENT", "KILL", "ID", id.int ?? 0])
            }
            try await eventually("commands run again, on another connection") {
                do {
                    return try await client.command(["CLIENT", "ID"]) != id
                } catch let error as RedisError where error.isRetriable {
                    return false
                }
            }
        }
    }

    /// The address is a link, as a name or a proxy would be, to the socket of whichever server is the primary.
    @Test func `after a failover commands reach the new primary`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("redis-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }  // nothing depends on the removal
        let port = try LocalPort.free(2)
        let servers = try (0..<2).map { number in
            try ChildProcess.spawn(
                "redis-server",
                [
                    "--port", "\(port + number)", "--bind", "127.0.0.1", "--dir", directory, "--save", "",
                    "--unixsocket", "\(directory)/\(number)",
                ], environment: CurrentEnvironment.variables, output: .discard)
        }
        defer { for server in servers { server.signal(SIGKILL) } }
        let address = directory + "/primary"
        @Sendable func lead(to number: Int) throws {
            try? FileManager.default.removeItem(atPath: address)  // there is none at first
            try FileManager.default.createSymbolicLink(
                atPath: address, withDestinationPath: "\(directory)/\(number)")
        }
        try lead(to: 0)
        try await RedisClient.withClient(try RedisConfiguration(url: "unix://" + address), on: loops) { client in
            @Sendable func writes() async throws -> Bool {
                do {
                    try await client.command(["SET", "test:key", "1"])
                    return true
                } catch let error as RedisError where error.isRetriable {
                    return false
                }
            }
            try await eventually("both listen, and the first one is written to", within: .seconds(20)) {
                guard LocalPort.isTaken(port + 1) else { return false }
                return try await writes()
            }
            try await client.command(["REPLICAOF", "127.0.0.1", port + 1])
            // Its name still leads there for a moment.
            try await eventually("it is a replica") { try await !writes() }
            try lead(to: 1)
            try await eventually("the second one is written to", within: .seconds(20)) { try await writes() }
            #expect(try await client.command(["CONFIG", "GET", "port"]).array?.last?.string == "\(port + 1)")
        }
    }

    @Test func `a server that doesn't answer is given up`() async throws {
        var configuration = try RedisConfiguration(url: try await TestEngines.shared().redisURL)
        configuration.answerTimeout = .milliseconds(200)
        let connection = RedisConnection(configuration: configuration, on: loops.next())
        try await connection.connect()
        await #expect {
            try await connection.command(["BLPOP", "test:nothing:\(UInt64.random(in: 0 ... .max))", 20])
        } throws: {
            ($0 as? RedisError)?.code == .timeout
        }
        await #expect(throws: RedisError.self) { try await connection.waitUntilClosed() }
    }

    /// What precedes a connection can't be interrupted. Here it is a file that nobody writes to; a name server that doesn't answer
    /// holds it up in the same way.
    @Test(.timeLimit(.minutes(1))) func `a start that hangs delays neither a failure nor the end`() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("redis-\(UUID().uuidString)").path
        try #require(mkfifo(file, 0o600) == 0)
        defer {
            let end = Glibc.open(file, O_RDWR | O_NONBLOCK)  // lets whoever waits for a writer go on
            Glibc.close(end)
            unlink(file)
        }
        var configuration = try RedisConfiguration(url: "rediss://localhost:1?cacert=\(file)")
        configuration.connectTimeout = .milliseconds(200)
        let connection = RedisConnection(configuration: configuration, on: loops.next())
        await #expect { try await connection.connect() } throws: { ($0 as? RedisError)?.code == .connectionFailed }
        await connection.close()

        configuration.connectTimeout = .seconds(600)
        let client = RedisClient(configuration: configuration, on: loops)
        let running = Task { try await client.run() }
        let waiting = RedisConnection(configuration: configuration, on: loops.next())
        let connecting = Task { try await waiting.connect() }
        try await Task.sleep(for: .milliseconds(50))  // nothing shows that they have begun
        running.cancel()
        connecting.cancel()
        try await running.value
        await #expect { try await connecting.value } throws: { ($0 as? RedisError)?.code == .closed }
        await waiting.close()
    }

    @Test func `closing fails commands in flight`() async throws {
        let connection = RedisConnection(
            configuration: try RedisConfiguration(url: try await TestEngines.shared().redisURL), on: loops.next())
        try await connection.connect()
        let key = "test:nothing:\(UInt64.random(in: 0 ... .max))"
        let blocked = Task { try await connection.command(["BLPOP", key, 20]) }
        try await eventually("it is sent") { await connection.unanswered == 1 }
        await connection.close()
        await #expect { try await blocked.value } throws: { ($0 as? RedisError)?.code == .connectionLost }
    }

    @Test(.timeLimit(.minutes(1))) func `clients that start and stop at once all come to an end`() async throws {
        var configuration = try RedisConfiguration(url: try await TestEngines.shared().redisURL)
        configuration.connections = 2
        try await withThrowingTaskGroup(of: Void.self) { [configuration] group in
            for number in 0..<6 {
                group.addTask {
                    for _ in 0..<10 {
                        try await RedisClient.withClient(configuration, on: loops) { client in
                            if number % 2 == 0 { try await client.check() }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

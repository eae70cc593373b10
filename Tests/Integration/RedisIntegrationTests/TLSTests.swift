import ChildProcesses
import Foundation
import LocalEngines
import Redis
import TestSupport
import Testing

/// Servers that accept no client without TLS.
@Suite struct TLSTests {
    @Test func `a server that requires TLS is used with its authority, its name and a certificate`() async throws {
        try await withServer(wantsCertificates: false) { port, directory in
            let ca = "?cacert=\(directory)/ca.pem"
            #expect(await failure("rediss://:s3cret@localhost:\(port)/2\(ca)") == nil)
            #expect(await failure("rediss://:another@localhost:\(port)\(ca)")?.contains("WRONGPASS") == true)
            // Without TLS, another name, another authority.
            #expect(await failure("redis://:s3cret@localhost:\(port)") != nil)
            #expect(
                await failure("rediss://:s3cret@127.0.0.1:\(port)\(ca)")?.contains("IP address mismatch") == true)
            #expect(await failure("rediss://:s3cret@localhost:\(port)")?.contains("certificate") == true)
            #expect(
                await failure("rediss://:s3cret@localhost:\(port)?cacert=/nonexistent")?.contains("/nonexistent")
                    == true)
        }
        try await withServer(wantsCertificates: true) { port, directory in
            let ca = "?cacert=\(directory)/ca.pem"
            let own = "&cert=\(directory)/client.pem&key=\(directory)/client.key"
            #expect(await failure("rediss://:s3cret@localhost:\(port)\(ca)") != nil)
            #expect(await failure("rediss://:s3cret@localhost:\(port)\(ca)\(own)") == nil)
        }
    }

    @Test func `more data than all buffers hold goes both ways, and messages arrive`() async throws {
        try await withServer(wantsCertificates: false) { port, directory in
            let url = "rediss://:s3cret@localhost:\(port)?cacert=\(directory)/ca.pem"
            let configuration = try RedisConfiguration(url: url)
            try await RedisClient.withClient(configuration, on: loops) { client in
                let text = String(repeating: "0123456789", count: 400_000)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<8 {
                        group.addTask {
                            try await client.command(["SET", "large:\(number)", text + "\(number)"])
                            let value = try await client.command(["GET", "large:\(number)"]).string
                            #expect(value == text + "\(number)")
                        }
                    }
                    try await group.waitForAll()
                }
                let answers = try await client.pipeline((0..<20_000).map { RedisCommand(["INCRBY", "sum", $0]) })
                #expect(answers.last == .integer(199_990_000))
            }
        }
    }

    @Test func `a server that is stopped is noticed`() async throws {
        try await withServer(wantsCertificates: false) { port, directory in
            let url = "rediss://:s3cret@localhost:\(port)?cacert=\(directory)/ca.pem"
            let connection = RedisConnection(configuration: try RedisConfiguration(url: url), on: loops.next())
            try await connection.connect()
            let stopped = Task { try await connection.waitUntilClosed() }
            _ = try? await connection.command(["SHUTDOWN", "NOSAVE"])  // it has no answer
            await #expect(throws: RedisError.self) { try await stopped.value }
        }
    }

    /// Why no command is answered; `nil` when one is.
    private func failure(_ url: String) async -> String? {
        do {
            var configuration = try RedisConfiguration(url: url)
            configuration.connectTimeout = .seconds(20)
            let connection = RedisConnection(configuration: configuration, on: loops.next())
            do {
                try await connection.connect()
                let answer = try await connection.command(["PING"])
                await connection.close()
                return answer.string == "PONG" ? nil : "\(answer)"
            } catch {
                await connection.close()
                throw error
            }
        } catch {
            return (error as? RedisError)?.message ?? "\(error)"
        }
    }

    private func withServer(
        wantsCertificates: Bool, _ body: (_ port: Int, _ directory: String) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("redis-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }  // nothing depends on the removal
        try await TestCertificates.make(in: directory)
        let port = try LocalPort.free()
        let child = try ChildProcess.spawn(
            "redis-server",
            [
                "--port", "0", "--tls-port", "\(port)", "--bind", "127.0.0.1", "--dir", directory, "--save", "",
                "--requirepass", "s3cret", "--tls-cert-file", directory + "/server.pem", "--tls-key-file",
                directory + "/server.key", "--tls-ca-cert-file", directory + "/ca.pem", "--tls-auth-clients",
                wantsCertificates ? "yes" : "no",
            ], environment: CurrentEnvironment.variables, output: .file(directory + "/log"))
        do {
            try await eventually("the server listens", within: patience) {
                guard child.exitStatus == nil else {
                    throw EngineError(
                        engine: "redis", message: try String(contentsOfFile: directory + "/log", encoding: .utf8))
                }
                return LocalPort.isTaken(port)
            }
            try await body(port, directory)
        } catch {
            await child.terminate(grace: .seconds(10))
            throw error
        }
        await child.terminate(grace: .seconds(10))
    }
}

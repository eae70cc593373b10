import ChildProcesses
import Foundation
import LocalEngines
import Postgres
import TestSupport
import Testing

/// A server that accepts no client without TLS.
@Suite struct TLSTests {
    @Test func `a server that requires TLS is used with its authority, its name and a certificate`() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: root, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        defer { try? FileManager.default.removeItem(atPath: root) }  // nothing depends on the removal
        let engine = PostgresEngine(root: root, port: try LocalPort.free(), isDurable: false)
        try await engine.start()
        do {
            try await secure(engine, data: root + "/postgres/data", directory: root)
            let ca = "sslrootcert=\(root)/ca.pem"
            let client = "sslcert=\(root)/client.pem&sslkey=\(root)/client.key"
            let port = engine.port
            func isTaken(_ user: String, _ host: String, _ parameters: String) async -> Bool {
                var configuration = PostgresConfiguration(
                    url: "postgres://\(user)@\(host):\(port)/postgres?\(parameters)")
                configuration.connectTimeout = .seconds(20)
                let connection = PostgresConnection(configuration: configuration, on: loops.next())
                do {
                    try await connection.connect()
                    let rows = try await connection.query(
                        "select ssl from pg_stat_ssl where pid = pg_backend_pid()")
                    await connection.close()
                    return try rows.decode(Bool.self).first == true
                } catch {
                    await connection.close()
                    return false
                }
            }
            #expect(await isTaken("partita", "localhost", "sslmode=verify-full&\(ca)"))
            #expect(await isTaken("partita", "localhost", "sslmode=disable") == false)
            // Another name, and another authority.
            #expect(await isTaken("partita", "127.0.0.1", "sslmode=verify-full&\(ca)") == false)
            #expect(
                await isTaken("partita", "localhost", "sslmode=verify-full&sslrootcert=\(root)/client.pem") == false)
            #expect(await isTaken("holder", "localhost", "sslmode=verify-full&\(ca)") == false)
            #expect(await isTaken("holder", "localhost", "sslmode=verify-full&\(ca)&\(client)"))
        } catch {
            await engine.stop()
            throw error
        }
        await engine.stop()
    }

    /// Requires TLS from every client from now on, and a certificate from `holder`.
    private func secure(_ engine: PostgresEngine, data: String, directory: String) async throws {
        try await TestCertificates.make(in: directory)
        let script = """
            set -e; cd "$1"
            cp server.pem server.key ca.pem "$2"
            printf 'local all all trust\\nhostssl all holder all cert clientcert=verify-full\\nhostssl all all all trust\\n' > "$2/pg_hba.conf"
            chmod 600 "$2"/server.key client.key
            if [ "$(id -u)" = 0 ]; then chown --reference="$2" "$2"/server.pem "$2"/server.key "$2"/ca.pem "$2"/pg_hba.conf; fi
            """
        let connection = PostgresConnection(configuration: PostgresConfiguration(url: engine.url), on: loops.next())
        try await connection.connect()
        let made = try await CapturedRun.run("bash", ["-c", script, "bash", directory, data])
        try #require(made.status.isSuccess, "\(made.output)")
        for statement in [
            "create role holder login", "alter system set ssl_cert_file = 'server.pem'",
            "alter system set ssl_key_file = 'server.key'", "alter system set ssl_ca_file = 'ca.pem'",
            "alter system set ssl = on", "select pg_reload_conf()",
        ] { _ = try await connection.query(statement) }
        await connection.close()
        try await eventually("the settings are read", within: patience) {
            var plain = PostgresConfiguration(url: engine.url + "?sslmode=disable")
            plain.connectTimeout = .seconds(5)
            let probe = PostgresConnection(configuration: plain, on: loops.next())
            do {
                try await probe.connect()
                await probe.close()
                return false
            } catch {
                await probe.close()
                return true  // refused, as every client without TLS is now
            }
        }
    }
}

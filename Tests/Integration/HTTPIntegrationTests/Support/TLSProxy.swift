import ChildProcesses
import Foundation
import HTTPServer
import LocalEngines
import Testing

/// nginx that terminates TLS in front of a server, as in a deployment, with a certificate for `localhost`.
struct TLSProxy {
    let port: Int
    /// The certificate, which is its own authority.
    let certificate: String

    /// Runs nginx until the body has returned.
    static func with<Result>(_ server: HTTPServer, _ body: (TLSProxy) async throws -> Result) async throws -> Result {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }  // nothing depends on the removal
        let proxy = TLSProxy(port: try LocalPort.free(), certificate: directory + "/certificate.pem")
        let made = try await CapturedRun.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", directory + "/key.pem",
                "-out", proxy.certificate,
            ])
        try #require(made.status.isSuccess, "\(made.output)")
        let file = directory + "/nginx.conf"
        try proxy.configuration(directory, server.port).write(toFile: file, atomically: true, encoding: .utf8)
        return try await NginxProcess.with(
            file, port: proxy.port, log: directory + "/nginx.log", directives: ""
        ) { try await body(proxy) }
    }

    private func configuration(_ directory: String, _ port: Int) -> String {
        let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(directory)/\($0);" }
        return """
            daemon off;
            master_process off;
            pid \(directory)/nginx.pid;
            events {}
            http {
                access_log off;
                \(folders.joined(separator: "\n    "))
                server {
                    listen 127.0.0.1:\(self.port) ssl http2;
                    ssl_certificate \(certificate);
                    ssl_certificate_key \(directory)/key.pem;
                    location / {
                        proxy_pass http://127.0.0.1:\(port);
                        proxy_http_version 1.1;
                        proxy_set_header Upgrade $http_upgrade;
                        proxy_set_header Connection upgrade;
                    }
                }
            }
            """
    }
}

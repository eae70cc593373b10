import ChildProcesses
import Foundation
import LocalEngines
import Testing

/// nginx with `Deploy/proxy.conf.template`, which finds its services by name.
struct RolledOutProxy {
    let port: Int
    /// All of its output.
    let log: String

    /// The names of the services, as compose calls them, and the port that they have in these tests.
    static let services = ["auth", "sync-gateway", "trigger-workers", "media-offload"]

    /// Runs nginx until the body has returned.
    /// - Parameters:
    ///   - servicePort: the port of all services.
    ///   - names: the name server with their addresses.
    ///   - settings: values of the template that differ from those of compose.
    static func with<Result>(
        servicePort: Int, names: NameServer, settings: [String: String] = [:],
        _ body: (RolledOutProxy) async throws -> Result
    ) async throws -> Result {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("proxy-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }  // nothing depends on the removal
        let proxy = RolledOutProxy(port: try LocalPort.free(), log: directory + "/log")
        var values = [
            "PARTITA_PROXY_LISTEN": "127.0.0.1:\(proxy.port)", "PARTITA_PROXY_RUN": directory,
            "PARTITA_PROXY_WORKERS": "1", "NGINX_LOCAL_RESOLVERS": "127.0.0.1:\(names.port)",
            "PARTITA_PROXY_TRUSTED": "127.0.0.1", "PARTITA_PROXY_DESCRIPTORS": "1024", "PARTITA_PROXY_REQUESTS": "200",
            "PARTITA_HOSTING_DOMAIN": "apps.example", "PARTITA_PROXY_BURST": "1000", "PARTITA_PROXY_CALLS": "1000",
            "PARTITA_PROXY_SOCKETS": "5000",
        ]
        for service in services {
            values["PARTITA_" + service.uppercased().replacing("-", with: "_")] = "\(service):\(servicePort)"
        }
        var text = try String(contentsOf: template, encoding: .utf8)
        for (name, value) in values.merging(settings, uniquingKeysWith: { $1 }) {
            text = text.replacing("${\(name)}", with: value)
        }
        try text.write(toFile: directory + "/nginx.conf", atomically: true, encoding: .utf8)
        return try await NginxProcess.with(directory + "/nginx.conf", port: proxy.port, log: proxy.log) {
            try await body(proxy)
        }
    }

    /// The lines of the access log; nginx's other output isn't JSON.
    var lines: [String] {
        get throws { try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init) }
    }

    private static let template = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../../Deploy/proxy.conf.template").standardized
}

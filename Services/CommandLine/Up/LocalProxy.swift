import ChildProcesses
import Foundation
import Glibc
import LocalEngines
import ServiceEngines

/// nginx in front of the services, so that a system on this machine has one address, as in a deployment.
struct LocalProxy {
    /// The file of nginx's configuration, which `compose.yaml` uses as well.
    let template: String
    let port: Int
    /// The name or address of this machine for clients on other machines; `nil` doesn't admit them.
    let host: String?
    let places: Places

    static let name = "proxy"

    /// The base URL of clients.
    var publicURL: String { "http://\(host ?? "127.0.0.1"):\(port)" }

    /// Where apps' hosted files are served. Browsers take each name that ends with `.localhost` for this machine.
    var hostingURL: String { CurrentEnvironment.variables["PARTITA_HOSTING_URL"] ?? "http://localhost:\(port)" }

    /// Writes nginx's configuration.
    /// - Returns: the process to start; `nil` where nginx or the template is missing.
    /// - Throws: when a file can't be read or written; `ToolError` when clients on other machines need the proxy, and it is
    ///   missing.
    func process(_ services: [ServiceProcess]) throws -> ServiceProcess? {
        guard let nginx = Self.nginx, FileManager.default.fileExists(atPath: template) else {
            if host != nil { throw ToolError("--host needs nginx and \(template)") }
            return nil
        }
        var text = try String(contentsOfFile: template, encoding: .utf8)
        for (name, value) in variables(services) { text = text.replacing("${\(name)}", with: value) }
        let file = places.run + "/proxy.conf"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return ServiceProcess(
            name: Self.name, port: port, places: places, executable: "/bin/sh",
            arguments: [
                // A single process, which ends on a signal. It has no master process that would raise its limit of descriptors.
                "-c", #"ulimit -n "$1" && exec "$0" -c "$2" -e stderr -g "daemon off; master_process off;""#, nginx,
                "\(Self.descriptors)", file,
            ])
    }

    /// The variables of the template: as in `compose.yaml`, but for a machine that is used for other work, too. The environment
    /// takes precedence.
    private func variables(_ services: [ServiceProcess]) -> [String: String] {
        var variables = [
            "PARTITA_PROXY_LISTEN": host == nil ? "127.0.0.1:\(port)" : "\(port)",
            "PARTITA_PROXY_RUN": places.run, "PARTITA_PROXY_WORKERS": "1",
            // The services have addresses, not names: no resolver is needed.
            "NGINX_LOCAL_RESOLVERS": "127.0.0.1", "PARTITA_PROXY_TRUSTED": "127.0.0.1",
            "PARTITA_PROXY_DESCRIPTORS": "\(Self.descriptors)", "PARTITA_PROXY_REQUESTS": "200",
            "PARTITA_PROXY_BURST": "1000", "PARTITA_PROXY_CALLS": "1000", "PARTITA_PROXY_SOCKETS": "5000",
            // Where it isn't valid, the configuration's readers say so.
            "PARTITA_HOSTING_DOMAIN": HostingAddress(url: hostingURL)?.domain ?? "hosting.invalid",
        ]
        for service in services {
            let name = "PARTITA_" + service.name.uppercased().replacing("-", with: "_")
            variables[name] = "127.0.0.1:\(service.port)"
        }
        for name in ["REQUESTS", "BURST", "CALLS", "SOCKETS"].map({ "PARTITA_PROXY_" + $0 }) {
            if let value = CurrentEnvironment.variables[name] { variables[name] = value }
        }
        return variables
    }

    /// nginx's limit of descriptors: as many as this process may allow, and at most 65,536.
    private static var descriptors: Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return min(Int(clamping: limit.rlim_max), 65_536)
    }

    /// Debian installs it in a directory that only root has in its path.
    /// Why there is no proxy.
    var absence: String {
        Self.nginx == nil ? "nginx isn't installed" : "there is no \(template), which --proxy can name"
    }

    private static var nginx: String? {
        let path = CurrentEnvironment.variables["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin"]
        return folders.map { $0 + "/nginx" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

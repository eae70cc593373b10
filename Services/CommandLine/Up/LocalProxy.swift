import ChildProcesses
import Foundation
import LocalEngines

/// nginx in front of the services, so that a system on this machine has one address, as it has where it is rolled out.
struct LocalProxy {
    /// The configuration that compose uses as well.
    let template: String
    let port: Int
    /// What clients on other machines call this one; `nil` keeps them out.
    let host: String?
    let places: Places

    static let name = "proxy"

    /// Where clients begin.
    var publicURL: String { "http://\(host ?? "127.0.0.1"):\(port)" }

    /// Writes nginx's configuration.
    /// - Returns: the process to start; `nil` where nginx or the template is missing.
    /// - Throws: when a file can't be read or written; `ToolError` when clients elsewhere need the proxy, and there is none.
    func process(_ services: [ServiceProcess]) throws -> ServiceProcess? {
        guard let nginx = Self.nginx, FileManager.default.fileExists(atPath: template) else {
            if host != nil { throw ToolError("--host needs nginx and \(template)") }
            return nil
        }
        var server = try String(contentsOfFile: template, encoding: .utf8)
            .replacing("${PARTITA_PROXY_LISTEN}", with: host == nil ? "127.0.0.1:\(port)" : "\(port)")
        for service in services {
            let variable = service.name.uppercased().replacing("-", with: "_")
            server = server.replacing("${PARTITA_\(variable)}", with: "127.0.0.1:\(service.port)")
        }
        let file = places.run + "/proxy.conf"
        try configuration(server).write(toFile: file, atomically: true, encoding: .utf8)
        return ServiceProcess(
            name: Self.name, port: port, places: places, executable: nginx, arguments: ["-c", file, "-e", "stderr"])
    }

    /// One process that ends when it is told to, and keeps its files to itself.
    private func configuration(_ server: String) -> String {
        let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        let folders = kinds.map { "    \($0)_temp_path \(places.run)/nginx-\($0);" }.joined(separator: "\n")
        return """
            daemon off;
            master_process off;
            pid \(places.run)/nginx.pid;
            error_log stderr;
            events { worker_connections 4096; }
            http {
                access_log off;
            \(folders)

            \(server)
            }

            """
    }

    /// Debian has it where only root looks.
    private static var nginx: String? {
        let path = CurrentEnvironment.variables["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin"]
        return folders.map { $0 + "/nginx" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

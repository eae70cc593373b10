import ChildProcesses
import Foundation
import Glibc

/// Where a system on this machine keeps its data, its logs and its configuration.
struct Places: Sendable {
    let data: String
    /// Whether other commands find it without being told.
    let isDefault: Bool

    /// - Parameter data: `nil` stands for `/var/lib/partita` as root, `.partita` in the working directory otherwise.
    init(data: String?) {
        let path =
            data ?? CurrentEnvironment.variables["PARTITA_DATA"] ?? (geteuid() == 0 ? "/var/lib/partita" : ".partita")
        isDefault = data == nil
        self.data = URL(fileURLWithPath: path).standardizedFileURL.path
    }

    var engines: String { data + "/engines" }
    var logs: String { data + "/logs" }
    var media: String { data + "/media" }
    var mail: String { data + "/mail" }
    /// The stores of the devices of demos that went wrong.
    var demo: String { data + "/demo" }
    /// The services' process ids, and `ready` while the system is up.
    var run: String { data + "/run" }
    /// What the services and the tool's other commands read to find the engines.
    var configFile: String { data + "/partita.conf" }

    /// What secrets in Postgres are encrypted with; it stays when the system starts empty, since Postgres may be somebody else's.
    var keyFile: String { data + "/encryption.key" }

    func create() throws {
        for directory in [data, engines] {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        }
        // Photos, and mails with links that sign in: nobody else's business. The engines' user has to pass the ones above.
        for directory in [logs, media, mail, run] {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
    }

    func remove() throws {
        // Only what is made here: the directory may be somebody's home.
        for path in [engines, logs, media, mail, demo, run, configFile]
        where FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
    }
}

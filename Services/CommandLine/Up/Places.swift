import ChildProcesses
import Foundation
import Glibc

/// Where a system on this machine keeps its data, its logs and its configuration.
struct Places: Sendable {
    let data: String
    /// Whether other commands find it without `--data`.
    let isDefault: Bool

    /// - Parameter data: `nil` means `PARTITA_DATA`, or else `/var/lib/partita` as root and `.partita` in the working directory
    ///   otherwise.
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
    /// The device stores of failed demos.
    var demo: String { data + "/demo" }
    /// The services' process ids, and `ready` while the system is up.
    var run: String { data + "/run" }
    /// The file in which the tool's other commands find the engines.
    var configFile: String { data + "/partita.conf" }

    /// The encryption key of secrets in Postgres. A reset keeps it, since Postgres may be an external one that is not reset.
    var keyFile: String { data + "/encryption.key" }

    /// Makes the directories. From then on nobody else may write what this process and its children make, whatever the umask was.
    func create() throws {
        umask(umask(0o022) | 0o022)
        for directory in [data, engines] {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        }
        // Photos, and mails with links that sign in, are private. The directories above have to be accessible to the engines' user.
        for directory in [logs, media, mail, run] {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
    }

    func remove() throws {
        // Only what is created here: the directory may be a home directory.
        for path in [engines, logs, media, mail, demo, run, configFile]
        where FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
    }
}

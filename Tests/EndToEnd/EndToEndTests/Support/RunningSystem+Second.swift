import ChildProcesses
import TestSupport

extension RunningSystem {
    /// Starts a second instance of a service beside the system's own.
    func startSecond(_ service: String, port: Int, _ changes: [String: String] = [:]) throws -> ChildProcess {
        let process = try ChildProcess.spawn(
            CurrentEnvironment.sibling(service), environment: try environment(port: port, changes),
            output: .file("\(directory)/logs/second-\(service).log"))
        SystemAtExit.remember(process)
        return process
    }

    /// The configuration of a second instance.
    func environment(port: Int, _ changes: [String: String] = [:]) throws -> [String: String] {
        let own = [
            "PARTITA_HTTP_PORT": "\(port)", "PARTITA_HTTP_ADDRESS": "127.0.0.1", "PARTITA_LOOPS": "1",
            "PARTITA_POSTGRES_URL": try setting("postgres.url"), "PARTITA_REDIS_URL": try setting("redis.url"),
            "PARTITA_KAFKA_BOOTSTRAP": try setting("kafka.bootstrap"),
            "PARTITA_ENCRYPTION_KEYS": try setting("encryption.keys"),
            "PARTITA_KAFKA_EMBEDDED": try setting("kafka.embedded"), "PARTITA_MAIL_FOLDER": directory + "/mail",
            "PARTITA_MEDIA_DIRECTORY": directory + "/media", "PARTITA_MEDIA_PUBLIC_URL": url(of: "media-offload"),
            "PARTITA_SYNC_URL": url(of: "sync-gateway").replacing("http://", with: "ws://"),
        ]
        let given = CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") }
        return given.merging(own) { $1 }.merging(changes) { $1 }
    }
}

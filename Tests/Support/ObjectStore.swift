import ChildProcesses
import EventLoop
import Foundation
import LocalEngines

/// An object store that checks signatures as S3 does: the one that `PARTITA_S3_ENDPOINT`, `PARTITA_S3_ACCESS_KEY` and
/// `PARTITA_S3_SECRET_KEY` name, or Ceph's radosgw (`object-store.sh`), started once per process.
public struct ObjectStore: Sendable {
    public let endpoint: String
    public let accessKey: String
    public let secretKey: String
    /// The same over TLS, and the file of the authority that the certificate is from; `nil` for a store that variables name.
    public var secure: (endpoint: String, authority: String)?

    /// The store; the first call starts it, which takes a quarter of a minute.
    public static func shared() async throws -> ObjectStore { try await starter.store() }

    private static let starter = Starter()

    private actor Starter {
        private var started: Task<ObjectStore, any Error>?

        func store() async throws -> ObjectStore {
            let task = started ?? Task { try await ObjectStore.start() }
            started = task
            return try await task.value
        }
    }

    private static func start() async throws -> ObjectStore {
        let variables = CurrentEnvironment.variables
        if let endpoint = variables["PARTITA_S3_ENDPOINT"], let accessKey = variables["PARTITA_S3_ACCESS_KEY"],
            let secretKey = variables["PARTITA_S3_SECRET_KEY"]
        {
            return ObjectStore(endpoint: endpoint, accessKey: accessKey, secretKey: secretKey)
        }
        let port = try LocalPort.free(3)
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("object-store-\(getpid())").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        EnginesAtExit.remember(root: directory)
        try await TestCertificates.make(in: directory)
        var store = ObjectStore(
            endpoint: "http://127.0.0.1:\(port)", accessKey: "AKIATEST", secretKey: "test+secret/key")
        store.secure = ("https://localhost:\(port + 2)", directory + "/ca.pem")
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "object-store.sh")
        let process = try ChildProcess.spawn(
            "bash", [script.path, directory, "\(port)", store.accessKey, store.secretKey],
            output: .file(directory + "/start.log"), deathSignal: SIGTERM)
        running.withLock { $0 = process }
        try await eventually("the object store answers", within: .seconds(90), every: .milliseconds(100)) {
            if let status = process.exitStatus {
                let log = try String(contentsOfFile: directory + "/start.log", encoding: .utf8)
                throw EngineError(engine: "object store", message: "ended at its start (\(status)): \(log)")
            }
            return FileManager.default.fileExists(atPath: directory + "/ready")
        }
        return store
    }

    /// Ends with this process.
    private static let running = Locked<ChildProcess?>(nil)
}

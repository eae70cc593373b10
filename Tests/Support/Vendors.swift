import ChildProcesses
import Foundation
import FoundationNetworking
import LocalEngines

/// What functions call as AWS and Twilio, as a process (`vendors.py`), which checks what it gets.
public final class Vendors: Sendable {
    public static let accessKey = "AKIATEST"
    public static let secretKey = "test+secret/key"
    public static let account = "ACtest"
    public static let token = "token of the tests"

    public let url: String
    private let process: ChildProcess

    private init(url: String, process: ChildProcess) {
        self.url = url
        self.process = process
    }

    /// Starts one, which ends with this process at the latest.
    public static func start() async throws -> Vendors {
        let port = try LocalPort.free()
        let log = FileManager.default.temporaryDirectory.appendingPathComponent("vendors-\(UUID().uuidString)").path
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("vendors.py")
        let process = try ChildProcess.spawn(
            "/usr/bin/python3", [script.path, "\(port)"], output: .file(log), deathSignal: SIGKILL)
        try await eventually("the vendors listen", within: patience) {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""  // not there yet
            if let status = process.exitStatus {
                throw EngineError(engine: "vendors", message: "ended (\(status)): \(text)")
            }
            return text.hasPrefix("READY")
        }
        try FileManager.default.removeItem(atPath: log)
        return Vendors(url: "http://localhost:\(port)", process: process)
    }

    /// The requests that were accepted, in their order, as JSON.
    public func accepted() async throws -> [UInt8] {
        guard let place = URL(string: url + "/requests") else { throw URLError(.badURL) }
        return Array(try await URLSession.shared.data(from: place).0)
    }
}

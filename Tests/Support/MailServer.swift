import ChildProcesses
import Foundation
import LocalEngines

/// A real mail server as a process (`mail-server.py`): it requires a name and a password, refuses some mails, and keeps the rest.
public final class MailServer: Sendable {
    /// A mail as the server understood it.
    public struct Mail: Decodable, Sendable {
        public let from: String
        public let to: [String]
        public let subject: String
        public let text: String
        /// The violations of the mail format.
        public let defects: [String]
    }

    public static let user = "partita"
    public static let password = "p@ss:wörd"

    public let port: Int
    private let directory: String
    private let process: ChildProcess

    private init(port: Int, directory: String, process: ChildProcess) {
        self.port = port
        self.directory = directory
        self.process = process
    }

    /// Starts one.
    /// - Parameters:
    ///   - port: where it listens; `nil` for any.
    ///   - certificates: a directory of ``TestCertificates``, for TLS from the first byte; `nil` for plain text.
    public static func start(port: Int? = nil, certificates: String? = nil) async throws -> MailServer {
        let port = try port ?? LocalPort.free()
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("mail-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "mail-server.py")
        // The system's Python: it has the package python3-aiosmtpd.
        let process = try ChildProcess.spawn(
            "/usr/bin/python3",
            [script.path, directory, "\(port)", user, password]
                + (certificates.map { ["\($0)/server.pem", "\($0)/server.key"] } ?? []),
            output: .file(directory + "/log"))
        let server = MailServer(port: port, directory: directory, process: process)
        try await eventually("the mail server listens", within: patience) {
            if let status = process.exitStatus {
                let log = try String(contentsOfFile: directory + "/log", encoding: .utf8)
                throw EngineError(engine: "mail server", message: "ended (\(status)): \(log)")
            }
            return FileManager.default.fileExists(atPath: directory + "/ready")
        }
        return server
    }

    /// All mails to an address, in the order of arrival.
    public func mails(to address: String) throws -> [Mail] {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory + "/mails")
        let numbers = names.filter { !$0.hasPrefix(".") }.compactMap { Int($0.prefix { $0 != "." }) }.sorted()
        return try numbers.map {
            try JSONDecoder().decode(
                Mail.self, from: Data(contentsOf: URL(fileURLWithPath: "\(directory)/mails/\($0).json")))
        }.filter { $0.to.contains(address) }
    }

    /// Stops the server, with all connections.
    public func stop() async {
        process.signal(SIGKILL)
        _ = await process.wait()
        try? FileManager.default.removeItem(atPath: directory)  // a temporary directory
    }
}

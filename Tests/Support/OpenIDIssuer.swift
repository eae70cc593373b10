import ChildProcesses
import Foundation
import FoundationNetworking
import LocalEngines

/// An issuer of ID tokens as a process (`issuer.py`), which is Facebook's Graph API, too.
public final class OpenIDIssuer: Sendable {
    public static let client = "client-of-the-tests"
    public static let secret = "secret of the client"

    /// The issuer's identifier, and the base of its addresses.
    public let url: String
    private let process: ChildProcess

    private init(url: String, process: ChildProcess) {
        self.url = url
        self.process = process
    }

    /// Starts one, which ends with this process at the latest.
    public static func start() async throws -> OpenIDIssuer {
        let port = try LocalPort.free()
        let log = FileManager.default.temporaryDirectory.appendingPathComponent("issuer-\(UUID().uuidString)").path
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("issuer.py")
        // The system's Python: it has the packages python3-jwt and python3-cryptography.
        let process = try ChildProcess.spawn(
            "/usr/bin/python3", [script.path, "\(port)"], output: .file(log), deathSignal: SIGKILL)
        try await eventually("the issuer listens", within: patience) {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""  // not there yet
            if let status = process.exitStatus {
                throw EngineError(engine: "issuer", message: "ended (\(status)): \(text)")
            }
            return text.hasPrefix("READY")
        }
        try FileManager.default.removeItem(atPath: log)
        return OpenIDIssuer(url: "http://127.0.0.1:\(port)", process: process)
    }

    /// A token with these claims, besides `iss`, `sub` (`u-1`), `aud`, `iat` and `exp`, which they may replace.
    public func token(_ claims: [String: Any] = [:], algorithm: String = "RS256", keyId: String? = nil) async throws
        -> String
    {
        var body: [String: Any] = ["claims": claims, "alg": algorithm]
        body["kid"] = keyId
        return try await text("token", of: post("/sign", body))
    }

    /// A code that the client got by itself.
    public func code(_ claims: [String: Any] = [:]) async throws -> String {
        try await text("code", of: post("/code", claims))
    }

    /// Makes an access token of Facebook; `id` is the user's.
    public func facebook(token: String, _ user: [String: Any]) async throws {
        _ = try await post("/facebook", user.merging(["token": token], uniquingKeysWith: { $1 }))
    }

    /// Changes how it behaves; see `issuer.py`.
    public func set(_ settings: [String: Any]) async throws { _ = try await post("/settings", settings) }

    /// Replaces all keys.
    public func rotate() async throws { _ = try await post("/rotate", [:]) }

    /// How often the key set was fetched.
    public func keyFetches() async throws -> Int {
        let (data, _) = try await URLSession.shared.data(from: try place("/stats"))
        let stats = try JSONSerialization.jsonObject(with: data) as? [String: Int]
        return stats?["keys"] ?? -1
    }

    private func place(_ path: String) throws -> URL {
        guard let url = URL(string: url + path) else { throw URLError(.badURL) }
        return url
    }

    private func text(_ name: String, of answer: [String: Any]) throws -> String {
        guard let text = answer[name] as? String else { throw URLError(.badServerResponse) }
        return text
    }

    private func post(_ path: String, _ body: [String: Any]) async throws -> [String: Any] {
        var request = URLRequest(url: try place(path))
        request.httpMethod = "POST"
        request.httpBody = try JSONSerialization.data(withJSONObject: body)
        let (data, response) = try await URLSession.shared.data(for: request)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
        return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }
}

import DocumentModel
import Foundation
import FoundationNetworking

/// Calls auth as a client's SDK does.
struct AppClient: Sendable {
    enum Method: String { case get = "GET", post = "POST", put = "PUT", delete = "DELETE", options = "OPTIONS" }

    struct Answer: Sendable {
        var status: Int
        var headers: [String: String]
        var body: [UInt8]

        /// The body as JSON, null when it is empty.
        var json: Value { (try? ExtendedJSON.parse(body)) ?? .null }  // null fails every expectation
        var code: String? { json["error_code"]?.stringValue }

        func header(_ name: String) -> String? { headers.first { $0.key.lowercased() == name.lowercased() }?.value }
    }

    struct Tokens: Sendable {
        var access: String
        var refresh: String
        var user: String
        var device: String
    }

    let port: Int
    let app: String

    var root: String { "http://127.0.0.1:\(port)" }

    /// A call of a path under `/api/client/v2.0/app/<app>/`.
    func call(
        _ method: Method, _ path: String, _ body: Document? = nil, token: String? = nil, headers: [String: String] = [:]
    ) async throws -> Answer {
        try await send(method, "/api/client/v2.0/app/\(app)/\(path)", body, token: token, headers: headers)
    }

    /// A call of a path under `/api/client/v2.0/auth/`.
    func auth(
        _ method: Method, _ path: String, _ body: Document? = nil, token: String? = nil, headers: [String: String] = [:]
    ) async throws -> Answer {
        try await send(method, "/api/client/v2.0/auth/\(path)", body, token: token, headers: headers)
    }

    /// A call of the admin API.
    func admin(_ method: Method, _ path: String, token: String? = AuthFixture.adminToken) async throws -> Answer {
        try await send(method, "/api/admin/v1/apps/\(app)/users\(path)", nil, token: token, headers: [:])
    }

    func send(
        _ method: Method, _ path: String, _ body: Document?, token: String?, headers: [String: String]
    ) async throws -> Answer {
        try await sendText(
            method, path, body.map { ExtendedJSON.print(.document($0)) }, token: token, headers: headers)
    }

    func sendText(
        _ method: Method, _ path: String, _ body: String?, token: String? = nil, headers: [String: String] = [:]
    ) async throws -> Answer {
        try await sendBytes(method, path, body.map { Array($0.utf8) }, token: token, headers: headers)
    }

    func sendBytes(
        _ method: Method, _ path: String, _ body: [UInt8]?, token: String? = nil, headers: [String: String] = [:]
    ) async throws -> Answer {
        guard let url = URL(string: root + path) else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = method.rawValue
        request.httpBody = body.map { Data($0) }
        request.setValue("application/json;charset=utf-8", forHTTPHeaderField: "Content-Type")
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await URLSession.shared.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        var fields: [String: String] = [:]
        for (name, value) in response.allHeaderFields { fields["\(name)"] = "\(value)" }
        return Answer(status: response.statusCode, headers: fields, body: Array(data))
    }

    // MARK: Shorthands

    func register(_ email: String, _ password: String = "password") async throws -> Answer {
        try await call(
            .post, "auth/providers/local-userpass/register", ["email": .string(email), "password": .string(password)])
    }

    /// - Parameters:
    ///   - device: the id that an earlier sign-in gave.
    ///   - address: the client's address, as reported by the proxy in front.
    func login(
        _ email: String, _ password: String = "password", device: String? = nil, from address: String? = nil
    ) async throws -> Answer {
        var description: Document = ["platform": "test"]
        description["deviceId"] = device.map(Value.string)
        return try await call(
            .post, "auth/providers/local-userpass/login",
            [
                "username": .string(email), "password": .string(password), "provider": "local-userpass",
                "options": ["device": .document(description)],
            ], headers: address.map { ["X-Forwarded-For": $0] } ?? [:])
    }

    func signIn(_ email: String, _ password: String = "password") async throws -> Tokens {
        try Self.tokens(try await login(email, password))
    }

    /// Registers and signs in.
    func newUser(_ email: String) async throws -> Tokens {
        let answer = try await register(email)
        guard answer.status == 201 else { throw UnexpectedAnswer(answer: answer) }
        return try await signIn(email)
    }

    func refresh(_ token: String) async throws -> Answer { try await auth(.post, "session", token: token) }

    static func tokens(_ answer: Answer) throws -> Tokens {
        guard answer.status == 200, let access = answer.json["access_token"]?.stringValue,
            let refresh = answer.json["refresh_token"]?.stringValue, let user = answer.json["user_id"]?.stringValue,
            let device = answer.json["device_id"]?.stringValue
        else { throw UnexpectedAnswer(answer: answer) }
        return Tokens(access: access, refresh: refresh, user: user, device: device)
    }
}

struct UnexpectedAnswer: Error, CustomStringConvertible {
    var answer: AppClient.Answer
    var description: String { "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))" }
}

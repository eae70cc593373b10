import DocumentModel

/// The backend's HTTP interface for accounts, as clients of App Services use it.
struct AccountAPI: Sendable {
    /// What a session calls with.
    struct Tokens: Sendable {
        var access: String
        var refresh: String
    }

    /// The result of a sign-in.
    struct SignIn: Sendable {
        var tokens: Tokens
        var userId: String
        /// The id that the device sends with its next sign-in, so that the backend recognizes it.
        var deviceId: String?
    }

    let appId: String
    let baseURL: String
    let http: any HTTPTransport

    private var client: String { "\(baseURL)/api/client/v2.0" }
    private var app: String { "\(client)/app/\(appId)" }

    func register(email: String, password: String) async throws {
        _ = try await call(
            "POST", "\(app)/auth/providers/local-userpass/register",
            body: ["email": .string(email), "password": .string(password)])
    }

    func logIn(_ credentials: Credentials, device: Document) async throws -> SignIn {
        var body = credentials.body
        body["options"] = ["device": .document(device)]
        let answer = try await object("POST", "\(app)/auth/providers/\(credentials.provider)/login", body: body)
        return SignIn(
            tokens: Tokens(
                access: try string("access_token", of: answer), refresh: try string("refresh_token", of: answer)),
            userId: try string("user_id", of: answer), deviceId: answer["device_id"]?.stringValue)
    }

    /// - Returns: new tokens. The time that the session lasts begins anew with its new refresh token.
    func refresh(_ refreshToken: String) async throws -> Tokens {
        let answer = try await object("POST", "\(client)/auth/session", token: refreshToken)
        return Tokens(
            access: try string("access_token", of: answer), refresh: try string("refresh_token", of: answer))
    }

    func logOut(_ refreshToken: String) async throws {
        _ = try await call("DELETE", "\(client)/auth/session", token: refreshToken)
    }

    /// The address of the gateways, `ws://host`.
    func syncHost() async throws -> String {
        let answer = try await object("GET", "\(app)/location")
        return try string("ws_hostname", of: answer)
    }

    func callFunction(_ name: String, _ arguments: [Value], token: String) async throws -> Value {
        let body: Document = ["name": .string(name), "arguments": .array(arguments)]
        return try value(try await call("POST", "\(app)/functions/call", token: token, body: body))
    }

    // MARK: Calls

    private func call(
        _ method: String, _ url: String, token: String? = nil, body: Document? = nil
    ) async throws -> [UInt8] {
        var headers = [(name: "Accept", value: "application/json")]
        var bytes: [UInt8] = []
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        if let body {
            headers.append(("Content-Type", "application/json;charset=utf-8"))
            ExtendedJSON.append(body, to: &bytes)
        }
        let answer: HTTPAnswer
        do {
            answer = try await http.send(HTTPCall(method: method, url: url, headers: headers, body: bytes))
        } catch {
            try Task.checkCancellation()  // the caller doesn't want it any more
            throw PartitaError(code: .unreachable, message: "\(method) \(url): \(error)")
        }
        if (200..<300).contains(answer.status) { return answer.body }
        throw refusal(answer, isSession: token != nil)
    }

    private func refusal(_ answer: HTTPAnswer, isSession: Bool) -> PartitaError {
        // A response of a proxy in front of the backend has no such object.
        let body = (try? ExtendedJSON.parseDocument(answer.body)) ?? Document()
        let message = body["error"]?.stringValue ?? "status \(answer.status)"
        let code: PartitaError.Code =
            switch answer.status {
            case 401: isSession ? .signedOut : .refused
            case 429, 500...: .unreachable
            default: .refused
            }
        return PartitaError(code: code, message: message, serverCode: body["error_code"]?.stringValue)
    }

    private func value(_ body: [UInt8]) throws -> Value {
        do {
            return try ExtendedJSON.parse(body)
        } catch {
            throw PartitaError(code: .badResponse, message: "\(error)")
        }
    }

    private func object(
        _ method: String, _ url: String, token: String? = nil, body: Document? = nil
    ) async throws -> Document {
        guard case .document(let document) = try value(try await call(method, url, token: token, body: body)) else {
            throw PartitaError(code: .badResponse, message: "an object was expected")
        }
        return document
    }

    private func string(_ name: String, of document: Document) throws -> String {
        guard let text = document[name]?.stringValue else {
            throw PartitaError(code: .badResponse, message: "\(name) is missing")
        }
        return text
    }
}

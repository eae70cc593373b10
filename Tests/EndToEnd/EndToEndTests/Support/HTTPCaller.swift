import HTTPClient

/// A client of the HTTP interfaces.
struct HTTPCaller {
    let root: String
    let system: RunningSystem

    func get(_ path: String, token: String? = nil) async throws -> HTTPClient.Response {
        try await send("GET", path, nil, token)
    }

    func post(_ path: String, _ body: String, token: String? = nil) async throws -> HTTPClient.Response {
        try await send("POST", path, Array(body.utf8), token)
    }

    func send(
        _ method: String, _ path: String, _ body: [UInt8]?, _ token: String? = nil, waits: Bool = false
    ) async throws -> HTTPClient.Response {
        let http = HTTPClient(loop: system.loop)
        var headers = [HTTPClient.Header("Content-Type", "application/json")]
        if waits { headers.append(.init("Expect", "100-continue")) }
        if let token { headers.append(.init("Authorization", "Bearer \(token)")) }
        let answer = try await http.send(
            .init(method: method, url: root + path, headers: headers, body: body))
        await http.shutDown()
        return answer
    }
}

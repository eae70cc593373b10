import AccessTokens
import DocumentModel
import HTTPServer

/// The calls that need a session, whose token also names the app: profile, refresh, signing out, the user's sessions, deleting, API keys.
/// They are those of the client API of Atlas App Services, except the list of sessions.
struct SessionRoutes: Sendable {
    let support: RouteSupport
    let accounts: Accounts
    let sessions: Sessions
    let users: Users
    let budget: CallBudget
    let metrics: AuthMetrics

    /// Adds the routes under `/api/client/v2.0/auth`.
    func add(to router: inout HTTPRouter) {
        let limit = RouteSupport.bodyLimit
        router.get("/profile") { try await profile($0) }
        router.post("/session", bodyLimit: limit) { try await refresh($0) }
        router.delete("/session") { try await signOut($0) }
        router.get("/sessions") { try await list($0) }
        router.delete("/sessions/:session") { try await endSession($0) }
        router.delete("/delete") { try await delete($0) }
        router.post("/api_keys", bodyLimit: limit) { try await makeKey($0) }
        router.get("/api_keys") { try await keys($0) }
        router.get("/api_keys/:key") { try await key($0) }
        router.delete("/api_keys/:key") { try await deleteKey($0) }
        router.put("/api_keys/:key/enable", bodyLimit: limit) { try await setKey($0, disabled: false) }
        router.put("/api_keys/:key/disable", bodyLimit: limit) { try await setKey($0, disabled: true) }
    }

    /// The user of a request's token, whose session lives.
    private func user(_ request: HTTPRequest, _ type: TokenClaims.TokenType) async throws -> User {
        try await sessions.user(of: try support.claims(request, type))
    }

    private func profile(_ request: HTTPRequest) async throws -> HTTPResponse {
        let user = try await user(request, .access)
        return RouteSupport.json([
            "user_id": .string(user.id), "domain_id": .string(user.app), "type": .string(user.type),
            "identities": .array(user.identityDocuments.map(Value.document)), "data": .document(user.data),
        ])
    }

    private func refresh(_ request: HTTPRequest) async throws -> HTTPResponse {
        do {
            let claims = try support.claims(request, .refresh)
            let origin = support.origin(request)
            try await budget.spend(
                .refresh, app: claims.app, address: origin.address, session: claims.session)
            let grant = try await sessions.refresh(claims, origin: origin)
            metrics.refreshes["ok"].increment()
            return RouteSupport.json(
                ["access_token": .string(grant.accessToken), "refresh_token": .string(grant.refreshToken)], status: 201)
        } catch {
            metrics.refreshes[(error as? AuthError)?.code.rawValue ?? "InternalServerError"].increment()
            throw error
        }
    }

    private func signOut(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await sessions.ends.end(try support.claims(request, .refresh))
        return .noContent
    }

    // MARK: The user's sessions

    /// As API keys, sessions are seen and ended with the refresh token, which stays on the device.
    private func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        let claims = try support.claims(request, .refresh)
        let user = try await sessions.user(of: claims)
        let rows = try await accounts.tables.liveSessions(
            ofUser: user.id, app: user.app, now: accounts.clock.now(), limit: SessionListing.limit)
        return RouteSupport.response(
            .array(rows.map { .document(Self.document($0, isCurrent: $0.id == claims.session)) }))
    }

    private static func document(_ row: SessionListing, isCurrent: Bool) -> Document {
        var document = row.document
        document["current"] = .bool(isCurrent)
        return document
    }

    private func endSession(_ request: HTTPRequest) async throws -> HTTPResponse {
        let user = try await user(request, .refresh)
        try await sessions.ends.end(try request.parameters.require("session"), of: user)
        return .noContent
    }

    private func delete(_ request: HTTPRequest) async throws -> HTTPResponse {
        let user = try await user(request, .access)
        try await users.delete(user.id, app: user.app)
        return .noContent
    }

    // MARK: API keys

    /// API keys are managed with the refresh token, which stays on the device.
    private func keyOwner(_ request: HTTPRequest) async throws -> User {
        let user = try await user(request, .refresh)
        _ = try support.apps.required(user.app).provider("api-key")
        return user
    }

    private static func document(_ row: APIKeyRow) -> Document {
        ["_id": .string(row.id), "name": .string(row.name), "disabled": .bool(row.isDisabled)]
    }

    private func makeKey(_ request: HTTPRequest) async throws -> HTTPResponse {
        let user = try await keyOwner(request)
        let name = try support.body(request).requiredString("name")
        let claims = try support.claims(request, .refresh)
        let made = try await users.makeAPIKey(named: name, user: user, session: claims.session) {
            _ = try await sessions.user(of: claims, in: $0)
        }
        var document = Self.document(made.row)
        document["key"] = .string(made.key)
        return RouteSupport.json(document, status: 201)
    }

    private func keys(_ request: HTTPRequest) async throws -> HTTPResponse {
        let user = try await keyOwner(request)
        let rows = try await accounts.tables.apiKeys(user: user.id, of: user.app)
        return RouteSupport.response(.array(rows.map { .document(Self.document($0)) }))
    }

    private func key(_ request: HTTPRequest) async throws -> HTTPResponse {
        let user = try await keyOwner(request)
        let row = try await users.apiKey(try request.parameters.require("key"), user: user)
        return RouteSupport.json(Self.document(row))
    }

    private func deleteKey(_ request: HTTPRequest) async throws -> HTTPResponse {
        let user = try await keyOwner(request)
        try await users.deleteAPIKey(try request.parameters.require("key"), user: user)
        return .noContent
    }

    private func setKey(_ request: HTTPRequest, disabled: Bool) async throws -> HTTPResponse {
        let user = try await keyOwner(request)
        let claims = try support.claims(request, .refresh)
        try await users.setAPIKey(try request.parameters.require("key"), isDisabled: disabled, user: user) {
            _ = try await sessions.user(of: claims, in: $0)
        }
        return .noContent
    }
}

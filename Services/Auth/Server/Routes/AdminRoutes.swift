import DocumentModel
import HTTPServer

/// Users for administrators, guarded by the configured token; off where there is none.
struct AdminRoutes: Sendable {
    let support: RouteSupport
    let accounts: Accounts
    let users: Users
    /// What a caller has to show; without one the API is off.
    let token: String?

    private static let pageLimit = 500

    /// Adds the routes under `/api/admin/v1/apps/:app/users`.
    func add(to router: inout HTTPRouter) {
        let limit = RouteSupport.bodyLimit
        router.use { request, next in
            try checkToken(request)
            return try await next(request)
        }
        router.get("") { try await list($0) }
        router.get("/:user") { try await get($0) }
        router.delete("/:user") { try await delete($0) }
        router.delete("/:user/sessions") { try await revokeSessions($0) }
        router.put("/:user/disable", bodyLimit: limit) { try await setDisabled($0, true) }
        router.put("/:user/enable", bodyLimit: limit) { try await setDisabled($0, false) }
    }

    private func checkToken(_ request: HTTPRequest) throws {
        guard let token = token, !token.isEmpty else {
            throw AuthError(.missingAuthReq, "the admin API is off: no admin token is configured")
        }
        let shown = request.headers["authorization"] ?? ""
        // Digests have one length, so the comparison doesn't show the token's length.
        guard Sodium.areEqual(Sodium.digest("Bearer " + token), Sodium.digest(shown)) else {
            throw AuthError(.missingAuthReq, "the admin token is wrong or missing")
        }
    }

    private func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        let limit = request.query["limit"].map(Int.init) ?? 50
        guard let limit, (1...Self.pageLimit).contains(limit) else {
            throw AuthError(.invalidParameter, "limit is from 1 to \(Self.pageLimit)")
        }
        let page = try await accounts.tables.users(
            of: try support.app(request).id, after: request.query["after"] ?? "", limit: limit)
        return RouteSupport.json(["users": .array(page.map { .document($0.administrativeDocument) })])
    }

    private func get(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try request.parameters.require("user")
        guard let user = try await accounts.tables.user(id, of: try support.app(request).id) else {
            throw AuthError(.userNotFound, "user not found")
        }
        return RouteSupport.json(user.administrativeDocument)
    }

    private func delete(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await users.delete(
            try request.parameters.require("user"), app: try support.app(request).id)
        return .noContent
    }

    private func revokeSessions(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await users.revokeSessions(
            try request.parameters.require("user"), app: try support.app(request).id)
        return .noContent
    }

    private func setDisabled(_ request: HTTPRequest, _ isDisabled: Bool) async throws -> HTTPResponse {
        try await users.setDisabled(
            isDisabled, try request.parameters.require("user"), app: try support.app(request).id)
        return .noContent
    }
}

import HTTPServer

/// Where devices register with push services. Auth keeps the registrations, and publishes them; sending is up to the team's own sender.
struct PushRoutes: Sendable {
    let support: RouteSupport
    let accounts: Accounts
    let sessions: Sessions
    /// Has the waiting registrations published soon.
    let wakeOutbox: @Sendable () -> Void

    /// Tokens of the push services have a few hundred bytes.
    private static let maximumTokenBytes = 4096

    /// Adds the routes under `/api/client/v2.0/app/:app`.
    func add(to router: inout HTTPRouter) {
        let limit = RouteSupport.bodyLimit
        router.put("/push/providers/:service/registration", bodyLimit: limit) { try await register($0) }
        router.delete("/push/providers/:service/registration") { try await deregister($0) }
    }

    /// The registration that a request is about.
    private func place(_ request: HTTPRequest) async throws -> (
        app: String, user: String, device: String, provider: String
    ) {
        let app = try support.app(request).id
        let claims = try support.claims(request, .access, app: app)
        _ = try await sessions.user(of: claims)
        let provider = try request.parameters.require("service")
        guard (1...64).contains(provider.utf8.count), provider.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw AuthError(.invalidParameter, "a push service's name has 1 to 64 characters of ASCII without spaces")
        }
        return (app, claims.user, claims.device, provider)
    }

    private func register(_ request: HTTPRequest) async throws -> HTTPResponse {
        let place = try await place(request)
        let token = try support.body(request).requiredString("registrationToken")
        guard (1...Self.maximumTokenBytes).contains(token.utf8.count) else {
            throw AuthError(.invalidParameter, "registrationToken has 1 to \(Self.maximumTokenBytes) bytes")
        }
        try await accounts.store.transaction { tables in
            try await tables.registerPush(
                token, provider: place.provider, device: place.device, user: place.user, of: place.app,
                now: accounts.clock.now())
        }
        wakeOutbox()
        return .noContent
    }

    private func deregister(_ request: HTTPRequest) async throws -> HTTPResponse {
        let place = try await place(request)
        try await accounts.tables.deregisterPush(
            provider: place.provider, device: place.device, user: place.user, of: place.app, now: accounts.clock.now())
        wakeOutbox()
        return .noContent
    }
}

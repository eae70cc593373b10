import DocumentModel
import HTTPServer
import ServiceEngines

/// The calls that need no session: location, registering, confirming, resetting, signing in. They are those of the client API of Atlas App
/// Services.
struct AccountRoutes: Sendable {
    let support: RouteSupport
    let signIn: SignIn
    let registration: Registration
    let reset: PasswordReset
    let metrics: AuthMetrics
    let redirects: RedirectRoutes
    let address: PublicAddress
    /// The base URL that clients use for sync; `nil` for that of HTTP.
    let syncURL: String?

    /// Adds the routes under `/api/client/v2.0/app/:app`.
    func add(to router: inout HTTPRouter) {
        let limit = RouteSupport.bodyLimit
        router.get("/location") { try location($0) }
        redirects.addLogin(to: &router)
        router.post("/auth/providers/:provider/login", bodyLimit: 4 * limit) { try await enter($0) }
        router.group("/auth/providers/local-userpass") { router in
            router.post("/register", bodyLimit: limit) { try await register($0) }
            router.post("/confirm", bodyLimit: limit) { try await confirm($0) }
            router.post("/confirm/send", bodyLimit: limit) { try await resendConfirmation($0) }
            router.post("/confirm/call", bodyLimit: limit) { try await retryConfirmation($0) }
            router.post("/reset", bodyLimit: limit) { try await setPassword($0) }
            router.post("/reset/send", bodyLimit: limit) { try await sendReset($0) }
            router.post("/reset/call", bodyLimit: limit) { try await callReset($0) }
        }
    }

    private func location(_ request: HTTPRequest) throws -> HTTPResponse {
        let app = try support.app(request)
        let base = address.base(of: request)
        // http becomes ws, https becomes wss.
        let sync = syncURL ?? "ws" + base.dropFirst(4)
        return RouteSupport.json([
            "hostname": .string(base), "ws_hostname": .string(sync),
            "deployment_model": .string(app.definition.deploymentModel), "location": .string(app.definition.location),
        ])
    }

    private func enter(_ request: HTTPRequest) async throws -> HTTPResponse {
        let app = try support.app(request)
        let provider = try request.parameters.require("provider")
        let linking = try request.linksIdentity ? support.claims(request, .access, app: app.id) : nil
        if let linking { _ = try await signIn.sessions.user(of: linking) }
        let grant = try await signIn.signIn(
            provider, credentials: try support.body(request), app: app, linking: linking,
            origin: support.origin(request))
        return RouteSupport.json(grant.document)
    }

    private func register(_ request: HTTPRequest) async throws -> HTTPResponse {
        let app = try support.app(request)
        let body = try support.body(request)
        do {
            try await registration.register(
                email: try body.requiredString("email"), password: try body.requiredString("password"), app: app,
                origin: support.origin(request))
            metrics.registrations["ok"].increment()
        } catch {
            metrics.registrations[(error as? AuthError)?.code.rawValue ?? "InternalServerError"].increment()
            throw error
        }
        return RouteSupport.json([:], status: 201)
    }

    private func confirm(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = try support.body(request)
        try await registration.confirm(
            token: try body.requiredString("token"), tokenId: try body.requiredString("tokenId"),
            app: try support.app(request))
        return RouteSupport.json([:])
    }

    private func resendConfirmation(_ request: HTTPRequest) async throws -> HTTPResponse {
        let email = try support.body(request).requiredString("email")
        try await registration.resendConfirmation(
            email: email, app: try support.app(request), origin: support.origin(request))
        return RouteSupport.json([:])
    }

    private func retryConfirmation(_ request: HTTPRequest) async throws -> HTTPResponse {
        let email = try support.body(request).requiredString("email")
        try await registration.retryConfirmation(
            email: email, app: try support.app(request), origin: support.origin(request))
        return RouteSupport.json([:])
    }

    private func sendReset(_ request: HTTPRequest) async throws -> HTTPResponse {
        let email = try support.body(request).requiredString("email")
        try await reset.send(
            email: email, app: try support.app(request), origin: support.origin(request))
        return RouteSupport.json([:])
    }

    private func setPassword(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = try support.body(request)
        try await reset.reset(
            password: try body.requiredString("password"), token: try body.requiredString("token"),
            tokenId: try body.requiredString("tokenId"), app: try support.app(request),
            origin: support.origin(request))
        return RouteSupport.json([:])
    }

    private func callReset(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = try support.body(request)
        let arguments: [Value]
        switch body["arguments"] {
        case nil: arguments = []
        case .array(let items)?: arguments = items
        default: throw AuthError(.invalidParameter, "arguments must be an array")
        }
        try await reset.call(
            email: try body.requiredString("email"), password: try body.requiredString("password"),
            arguments: arguments,
            app: try support.app(request), origin: support.origin(request))
        return RouteSupport.json([:])
    }
}

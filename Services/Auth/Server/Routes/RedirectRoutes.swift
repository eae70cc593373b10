import DocumentModel
import Foundation
import HTTPServer

/// Signing in by redirects, as App Services' SDK for browsers does: `GET …/login` leads to the identity provider's page, which leads back to
/// `callback`, and that to the app's page.
struct RedirectRoutes: Sendable {
    let support: RouteSupport
    let redirects: RedirectSignIn
    let address: PublicAddress

    /// The path of the codes, which each identity provider has to know.
    static let callback = "/api/client/v2.0/auth/callback"

    /// Adds the route that begins a sign-in, under `/api/client/v2.0/app/:app`.
    func addLogin(to router: inout HTTPRouter) {
        router.get("/auth/providers/:provider/login") { try await begin($0) }
    }

    /// Adds the routes that end one, under `/api/client/v2.0/auth`.
    func addCallback(to router: inout HTTPRouter) {
        router.get("/callback") { request in try await end(request, request.query) }
        router.post("/callback", bodyLimit: RouteSupport.bodyLimit) { request in
            let form = HTTPQuery(String(decoding: request.body, as: UTF8.self))
            guard form.isWellFormed else { throw AuthError(.badRequest, "the body isn't a form") }
            return try await end(request, form)
        }
    }

    private func begin(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard request.query["link"] != "true" else {
            throw AuthError(
                .badRequest, "an identity is linked with POST, and an ID token, a code or an access token")
        }
        guard let redirect = request.query["redirect"] else {
            throw AuthError(.missingParameter, "redirect is missing")
        }
        let departure = try await redirects.begin(
            try request.parameters.require("provider"), redirect: redirect, state: request.query["state"] ?? "",
            device: try Self.device(request.query["device"]), callback: address.base(of: request) + Self.callback,
            app: try support.app(request), origin: support.origin(request))
        return found(departure.location, cookie: departure.cookie, lifetime: RedirectSignIn.lifetime, request)
    }

    private func end(_ request: HTTPRequest, _ answer: HTTPQuery) async throws -> HTTPResponse {
        let (location, cookie) = try await redirects.end(
            { answer[$0] }, cookies: { Self.cookie($0, of: request) }, apps: support.apps,
            origin: support.origin(request))
        return found(location, cookie: .init(name: cookie, value: ""), lifetime: 0, request)
    }

    private func found(
        _ location: String, cookie: RedirectSignIn.Cookie, lifetime: Int64, _ request: HTTPRequest
    ) -> HTTPResponse {
        // A form from the identity provider's page brings the cookie only with SameSite=None, which needs TLS.
        let policy = address.base(of: request).hasPrefix("https:") ? "SameSite=None; Secure" : "SameSite=Lax"
        return HTTPResponse(
            status: 302,
            headers: [
                "Location": location, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
                "Set-Cookie":
                    "\(cookie.name)=\(cookie.value); Path=\(Self.callback); Max-Age=\(lifetime); HttpOnly; \(policy)",
            ])
    }

    private static func cookie(_ name: String, of request: HTTPRequest) -> String? {
        (request.headers["cookie"] ?? "").split { $0 == ";" || $0 == "," }.lazy
            .map { $0.drop { $0 == " " } }
            .first { $0.startsWithBytes(of: name + "=") }
            .map { String($0.utf8.dropFirst(name.utf8.count + 1)) ?? "" }
    }

    /// The device as SDKs describe it in a query: JSON in Base64.
    private static func device(_ text: String?) throws -> Document {
        guard let text, !text.isEmpty else { return Document() }
        // A `+` of Base64 that isn't escaped is a space in a query.
        guard text.utf8.count <= 8192, let data = Data(base64Encoded: text.replacing(" ", with: "+")),
            let device = try? ExtendedJSON.parseDocument(Array(data), limits: .input)
        else { throw AuthError(.invalidParameter, "device isn't a JSON object in Base64") }
        return device
    }
}

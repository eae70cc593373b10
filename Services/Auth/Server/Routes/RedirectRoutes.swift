import DocumentModel
import Foundation
import HTTPServer
import ServiceEngines

/// Signing in and linking by redirects, as App Services' SDK for browsers does: `GET …/login` leads to the identity provider's page, which
/// leads back to `callback`, and that to the app's page.
///
/// A page can't give its user's token to a browser that goes to another page. So it links by a call (`link=true`), whose answer says in a
/// header where the browser is to go (`providerRedirectHeader=true`), and has the cookie.
struct RedirectRoutes: Sendable {
    let support: RouteSupport
    let redirects: RedirectSignIn
    let sessions: Sessions
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

    /// The full template of the route that begins.
    static let login = "/api/client/v2.0/app/:app/auth/providers/:provider/login"
    /// The header of an answer to a call.
    static let locationHeader = "X-Baas-Location"

    /// Whether a page begins by a call, whose answer it reads, and whose cookie its browser is to keep.
    static func isCall(_ request: HTTPRequest) -> Bool {
        request.route == login && request.query["providerRedirectHeader"] == "true"
    }

    private func begin(_ request: HTTPRequest) async throws -> HTTPResponse {
        let app = try support.app(request)
        let linking = try request.linksIdentity ? support.claims(request, .access, app: app.id) : nil
        guard let redirect = request.query["redirect"] else {
            throw AuthError(.missingParameter, "redirect is missing")
        }
        if let linking {
            try Self.check(request, redirect)
            _ = try await sessions.user(of: linking)
        }
        let departure = try await redirects.begin(
            try request.parameters.require("provider"), redirect: redirect, state: request.query["state"] ?? "",
            device: try Self.device(request.query["device"]), callback: address.base(of: request) + Self.callback,
            linking: linking, app: app, origin: support.origin(request))
        var answer = found(departure.location, cookie: departure.cookie, lifetime: RedirectSignIn.lifetime, request)
        if Self.isCall(request) {
            answer.status = 200
            answer.headers["Location"] = nil
            answer.headers[Self.locationHeader] = departure.location
        }
        return answer
    }

    /// A page of another site can't have a visitor's identity linked to an account of its own: only one of the same origin as the page that
    /// gets the result can begin.
    private static func check(_ request: HTTPRequest, _ redirect: String) throws(AuthError) {
        guard isCall(request) else {
            throw AuthError(.invalidParameter, "an identity is linked with providerRedirectHeader=true")
        }
        guard let origin = request.headers["origin"] else { return }
        let next = redirect.utf8.dropFirst(origin.utf8.count).first
        guard redirect.startsWithBytes(of: origin),
            next == nil || next == UInt8(ascii: "/") || next == UInt8(ascii: "?")
        else {
            throw AuthError(.domainNotAllowed, "redirect must be a page of the origin that links")
        }
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

    /// A comma belongs to a cookie's value (RFC 6265, section 5.4): another cookie's value mustn't be taken for this one.
    private static func cookie(_ name: String, of request: HTTPRequest) -> String? {
        for field in request.headers where field.name.lowercased() == "cookie" {
            for pair in field.value.splitAtBytes(";") {
                let parts = pair.splitAtBytes("=", maxSplits: 1)
                let given = parts[0].trimmingCharacters(in: .whitespaces)
                if parts.count == 2, given.hasSameBytes(as: name) { return parts[1] }
            }
        }
        return nil
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

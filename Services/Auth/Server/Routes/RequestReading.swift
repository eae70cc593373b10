import AccessTokens
import AppRegistry
import DocumentModel
import EventTopics
import HTTPServer
import Postgres
import ServiceEngines

/// Reads bodies, tokens and addresses, and writes answers, for all routes.
struct RouteSupport: Sendable {
    let apps: AppDirectory
    let hosting: HostingAddress?
    let keys: SigningKeyRing
    let clock: WallClock

    /// The largest body, in bytes; those of valid calls are much smaller.
    static let bodyLimit = 64 << 10

    private static let notLoaded = AuthError(.serviceUnavailable, "the apps aren't loaded yet")

    /// The app that the path names.
    func app(_ request: HTTPRequest) throws -> DeployedApp {
        guard apps.isLoaded else { throw Self.notLoaded }
        return try apps.required(try request.parameters.require("app"))
    }

    /// The body as a document.
    ///
    /// - Throws: `badRequest`.
    func body(_ request: HTTPRequest) throws -> Document {
        do {
            return try ExtendedJSON.parseDocument(
                request.body, limits: ExtendedJSON.Limits(maximumDepth: 32, rejectDuplicateKeys: true))
        } catch {
            throw AuthError(.badRequest, "the body isn't a JSON object: \(error.message)")
        }
    }

    /// The claims of the request's bearer token.
    ///
    /// - Throws: `invalidSession`, whatever is wrong with the token; `serviceUnavailable` right after the start, while it can't be
    ///   checked: a client that is told that its session is invalid signs its user out. `OriginNotAllowed` for a page that the token's app
    ///   doesn't allow.
    func claims(_ request: HTTPRequest, _ type: TokenClaims.TokenType, app: String? = nil) throws -> TokenClaims {
        let parts = (request.headers["authorization"] ?? "").split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw AuthError(.invalidSession, "a bearer token is missing")
        }
        try keys.check()
        let claims: TokenClaims
        do {
            claims = try keys.verifier.verify(String(parts[1]), as: type, app: app, now: clock.seconds)
        } catch {
            throw AuthError(.invalidSession, "invalid session: \(error.code.rawValue)")
        }
        guard apps.isLoaded else { throw Self.notLoaded }
        guard let app = apps.app(claims.app) else { throw AuthError(.invalidSession, "the app is gone") }
        try CORSPolicy.check(request, for: app, hosting: hosting)
        return claims
    }

    func origin(_ request: HTTPRequest) -> CallOrigin {
        CallOrigin(
            address: request.remoteAddress.ip, agent: (request.headers["user-agent"] ?? "").shortened(to: 256))
    }

    static func json(_ document: Document, status: Int = 200) -> HTTPResponse {
        response(.document(document), status: status)
    }

    static func response(_ value: Value, status: Int = 200) -> HTTPResponse {
        var bytes: [UInt8] = []
        ExtendedJSON.append(value, mode: .canonical, to: &bytes)
        var response = HTTPResponse.json(bytes, status: status)
        response.headers["Cache-Control"] = "no-store"
        return response
    }
}

extension HTTPRequest {
    /// Whether a sign-in links its identity to the user whose access token is shown.
    var linksIdentity: Bool {
        get throws(AuthError) {
            switch query["link"] {
            case nil, "false": false
            case "true": true
            default: throw AuthError(.invalidParameter, "link is true or false")
            }
        }
    }
}

extension Sessions.Grant {
    /// The answer to a sign-in.
    var document: Document {
        [
            "access_token": .string(accessToken), "refresh_token": .string(refreshToken), "user_id": .string(userId),
            "device_id": .string(deviceId),
        ]
    }
}

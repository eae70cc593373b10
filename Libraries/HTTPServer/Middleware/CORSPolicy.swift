public import Texts

/// The pages of other origins that may call the server (Fetch standard, CORS protocol) and open WebSockets: an upgrade whose
/// `Origin` isn't allowed is answered with 403. Clients other than browsers send no `Origin`.
public struct CORSPolicy: Sendable {
    /// The origins that a request may come from.
    public enum Origins: Sendable {
        /// No page.
        case none
        /// Any page. With credentials allowed, the page's own origin is echoed.
        case any
        /// Pages of these origins, such as `https://app.example.com`, compared exactly.
        case only(Set<ExactText>)

        func contains(_ origin: String) -> Bool {
            switch self {
            case .none: false
            case .any: true
            case .only(let origins): origins.contains(origin)
            }
        }
    }

    /// Called for each request that has an `Origin`. Its route and path parameters are already set, so that an app can have its own
    /// list of origins.
    public var allowedOrigins: @Sendable (HTTPRequest) async -> Origins
    /// The methods that a page may use.
    public var methods: [HTTPMethod] = [.get, .head, .post, .put, .patch, .delete]
    /// The request headers that a page may send; `nil` for all that it requests.
    public var headers: [String]?
    /// The response headers that a page may read.
    public var exposedHeaders: [String] = []
    /// Whether a page may send credentials such as cookies with a request, and have its browser keep those of the answer.
    public var allowsCredentials: @Sendable (HTTPRequest) -> Bool = { _ in false }
    /// Whether the server itself refuses requests of origins that aren't listed, instead of leaving it to the browser; it always
    /// refuses such upgrades. A page of this host's own origin sends `Origin` as well, but isn't refused.
    public var refusesOthers = false
    /// How long a browser may cache the answer to a preflight request, in seconds.
    public var maxAge = 600

    /// Creates a policy with the defaults that the properties describe.
    public init(allowedOrigins: @escaping @Sendable (HTTPRequest) async -> Origins) {
        self.allowedOrigins = allowedOrigins
    }

    /// - Throws: `HTTPError` for an origin that isn't allowed, and the errors of `next`.
    nonisolated(nonsending) func handle(_ request: HTTPRequest, next: HTTPHandler) async throws -> HTTPResponse {
        guard let origin = request.headers["origin"] else {
            var response = try await next(request)
            response.headers.add("Vary", "Origin")
            return response
        }
        let origins = await allowedOrigins(request)
        let isAllowed = origins.contains(origin)
        if request.method == .options, request.headers["access-control-request-method"] != nil {
            guard isAllowed else { throw Self.refusal }
            return preflight(request, origin)
        }
        if refuses(request, origins) { try Self.check(request, origins) }
        var response = try await next(request)
        response.headers.add("Vary", "Origin")
        if isAllowed, response.upgrade == nil { allow(origin, request, &response) }
        return response
    }

    /// Refuses a request of an origin that isn't allowed, and isn't this host's own.
    /// - Throws: `HTTPError` 403 `OriginNotAllowed`.
    public static func check(_ request: HTTPRequest, _ origins: Origins) throws(HTTPError) {
        guard let origin = request.headers["origin"], !origins.contains(origin), !isOwn(origin, request) else { return }
        throw refusal
    }

    private static let refusal = HTTPError(
        403, code: "OriginNotAllowed", "origin not allowed", headers: ["Vary": "Origin"])

    /// Whether the server refuses a request of an origin that isn't allowed, instead of relying on the browser to withhold the
    /// response from the page. For WebSockets it must, because browsers let any page open one and read from it (RFC 6455, 10.2).
    private func refuses(_ request: HTTPRequest, _ origins: Origins) -> Bool {
        if request.isWebSocketUpgrade { return true }
        if case .only = origins { return refusesOthers }
        return false
    }

    /// Whether the origin is the address that the request was sent to.
    private static func isOwn(_ origin: String, _ request: HTTPRequest) -> Bool {
        guard let host = request.headers["host"], let scheme = origin.firstRange(of: "://") else { return false }
        return origin[scheme.upperBound...].utf8.elementsEqual(host.utf8)
    }

    private func allow(_ origin: String, _ request: HTTPRequest, _ response: inout HTTPResponse) {
        response.headers["Access-Control-Allow-Origin"] = origin
        if allowsCredentials(request) { response.headers["Access-Control-Allow-Credentials"] = "true" }
        if !exposedHeaders.isEmpty {
            response.headers["Access-Control-Expose-Headers"] = exposedHeaders.joined(separator: ", ")
        }
    }

    private func preflight(_ request: HTTPRequest, _ origin: String) -> HTTPResponse {
        var response = HTTPResponse.noContent
        allow(origin, request, &response)
        response.headers["Access-Control-Allow-Methods"] = methods.map(\.rawValue).joined(separator: ", ")
        let wanted = headers?.joined(separator: ", ") ?? request.headers["access-control-request-headers"]
        response.headers["Access-Control-Allow-Headers"] = wanted
        response.headers["Access-Control-Max-Age"] = String(maxAge)
        response.headers["Vary"] = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
        return response
    }
}

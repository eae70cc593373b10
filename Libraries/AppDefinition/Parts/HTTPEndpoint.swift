/// A URL of the app that runs a function (`https_endpoints/config.json`).
public struct HTTPEndpoint: Sendable {
    /// How a request shows that it may call the endpoint.
    public enum Validation: Sendable {
        /// `NO_VALIDATION`
        case none
        /// `SECRET_AS_QUERY_PARAM`: the query parameter `secret` is this secret.
        case secretInQuery(Secret)
        /// `VERIFY_PAYLOAD`: the header is `sha256=` and the hexadecimal HMAC with SHA-256 of the body, under this secret.
        case signedBody(Secret, header: String)

        public var secret: Secret? {
            switch self {
            case .none: nil
            case .secretInQuery(let secret), .signedBody(let secret, _): secret
            }
        }

        /// The name of the app's secret.
        public var secretName: String? { if case .named(let name)? = secret { name } else { nil } }
    }

    /// A secret of the app, or one that its files have in plain text, as those of webhooks do.
    public enum Secret: Sendable {
        case named(String)
        case text(String)
    }

    /// The path after `/app/{app}/endpoint`, which begins with a slash; it is compared by its bytes.
    public var route: String
    /// The HTTP method in upper case; `*` for any.
    public var method: String
    public var functionName: String
    public var validation: Validation
    /// Whether the function makes the response; otherwise it is 204 without a body.
    public var respondsWithResult: Bool
    /// Whether it isn't served: the app disables it, or it has a setting that isn't supported.
    public var isDisabled: Bool
    /// Whether the app would have it served, and it isn't.
    public var isRefused = false
    /// `create_user_on_auth`: whether Atlas made an account for a caller with an unknown JSON Web Token.
    public var createsUsers: Bool
    /// Whether the function's value is answered as Extended JSON by default, or else as plain JSON.
    public var returnsExtendedJSON: Bool

    /// Has it not served, because of something that isn't supported or isn't there.
    mutating func refuse() {
        if isDisabled { return }
        (isDisabled, isRefused) = (true, true)
    }
}

extension AppDefinition {
    /// The endpoints that are served at a path after `/app/{app}/endpoint`, one for each method.
    public func endpoints(at route: String) -> [HTTPEndpoint] {
        httpEndpoints.filter { !$0.isDisabled && $0.route.hasSameBytes(as: route) }
    }
}

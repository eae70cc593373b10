public import HTTPServer
public import ServiceBootstrap

/// Where clients reach the system, for the addresses that services give them.
public struct PublicAddress: Sendable {
    /// What is configured, without a slash at its end; `nil` for the address that a request was sent to.
    private let url: String?

    /// The address that `public.url` configures.
    public init(_ configuration: Configuration) {
        url = configuration[EngineSettings.publicURL].map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
    }

    /// The base URL for the client of a request. Its `Host` counts only if nothing is configured, since a client may write anything there.
    public func base(of request: HTTPRequest) -> String {
        url ?? "\(request.scheme)://\(request.headers["host"] ?? "localhost")"
    }
}

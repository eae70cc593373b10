import HTTPServer

/// The base URL under which clients reach this system by HTTP.
struct PublicAddress: Sendable {
    /// What is configured; `nil` for the address that a request was sent to.
    let url: String?

    func base(of request: HTTPRequest) -> String {
        guard let url else { return "\(request.scheme)://\(request.headers["host"] ?? "localhost")" }
        return url.hasSuffix("/") ? String(url.dropLast()) : url
    }
}

import Foundation

extension SMTPClient.Configuration {
    /// Makes a configuration from a URL, in which name and password are percent-encoded:
    ///
    /// - `smtps://user:password@host:port`: TLS from the first byte, port 465 by default.
    /// - `smtp://user:password@host:port`: STARTTLS, which the server must offer, port 587 by default.
    /// - `smtp://host:port?starttls=off`: without encryption.
    /// - Throws: `HTTPClientError` with `invalidRequest`; its message contains no part of the URL.
    public init(url: String) throws(HTTPClientError) {
        guard let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty else {
            throw HTTPClientError(.invalidRequest, "the mail server's URL is malformed")
        }
        let startTLS = parts.queryItems?.first { $0.name == "starttls" }?.value
        let security: SMTPClient.Security
        switch (parts.scheme, startTLS) {
        case ("smtps", nil): security = .tls
        case ("smtp", nil), ("smtp", "on"): security = .startTLS
        case ("smtp", "off"): security = .none
        default: throw HTTPClientError(.invalidRequest, "the mail server's URL must begin with smtp:// or smtps://")
        }
        self.init(
            host: host.trimmingCharacters(in: ["[", "]"]), port: parts.port ?? (security == .tls ? 465 : 587),
            security: security, user: parts.user.flatMap { $0.isEmpty ? nil : $0 }, password: parts.password)
    }
}

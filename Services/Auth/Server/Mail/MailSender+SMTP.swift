import EventLoop
import Foundation
import HTTPClient

extension MailSender {
    /// Hands each mail to a mail server.
    ///
    /// - Parameters:
    ///   - url: `smtp://[user:password@]host[:port]` (TLS as soon as possible), `smtps://…` (TLS from the start), or
    ///     `smtp+plain://…` (no TLS, for a server on the same machine).
    ///   - sender: an address, without a name.
    /// - Throws: `MailConfigurationError`.
    static func smtp(url: String, from sender: String, on loop: EventLoop) throws -> MailSender {
        guard let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty,
            let security = Self.securities[parts.scheme ?? ""]
        else { throw MailConfigurationError(message: "smtp.url is smtp://, smtps:// or smtp+plain:// with a host") }
        var configuration = SMTPClient.Configuration(
            host: host, port: parts.port ?? Self.ports[security] ?? 587, security: security, user: parts.user,
            password: parts.password)
        configuration.timeout = .seconds(20)
        let client = SMTPClient(loop: loop, configuration: configuration)
        return MailSender { mail in
            try await client.send(MailMessage(from: sender, to: mail.to, subject: mail.subject, text: mail.body))
        }
    }

    private static let securities: [String: SMTPClient.Security] = [
        "smtp": .startTLS, "smtps": .tls, "smtp+plain": .none,
    ]
    private static let ports: [SMTPClient.Security: Int] = [.startTLS: 587, .tls: 465, .none: 25]
}

/// The mail server can't be used as it is configured.
struct MailConfigurationError: Error, CustomStringConvertible {
    var message: String
    var description: String { message }
}

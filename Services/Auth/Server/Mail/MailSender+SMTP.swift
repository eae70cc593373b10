import EventLoop
import HTTPClient

extension MailSender {
    /// Hands each mail to a mail server.
    ///
    /// - Parameters:
    ///   - url: as `SMTPClient.Configuration` reads it.
    ///   - authorities: a file of certificates to trust instead of the system's.
    ///   - sender: an address, without a name.
    /// - Throws: `HTTPClientError` when the URL is malformed.
    static func smtp(
        url: String, authorities: String?, from sender: String, on loop: EventLoop
    ) throws(HTTPClientError) -> MailSender {
        var configuration = try SMTPClient.Configuration(url: url)
        configuration.certificateAuthorityFile = authorities
        // A client waits for the answer to its call.
        configuration.timeout = .seconds(20)
        let client = SMTPClient(loop: loop, configuration: configuration)
        return MailSender { mail in
            try await client.send(MailMessage(from: sender, to: mail.to, subject: mail.subject, text: mail.body))
        }
    }
}

/// No way to send mails is configured.
struct MailConfigurationError: Error, CustomStringConvertible {
    var message: String
    var description: String { message }
}

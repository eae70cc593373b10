import EventLoop
import HTTPClient

extension MailSender {
    /// Hands each mail to a mail server.
    ///
    /// - Parameters:
    ///   - url: as `SMTPClient.Configuration` reads it.
    ///   - sender: an address, without a name.
    /// - Throws: `HTTPClientError` when the URL is malformed.
    static func smtp(url: String, from sender: String, on loop: EventLoop) throws(HTTPClientError) -> MailSender {
        var configuration = try SMTPClient.Configuration(url: url)
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

/// A mail to one person.
struct Mail: Sendable {
    var to: String
    var subject: String
    var body: String
    /// The link that the mail is about, for the log in development.
    var link: String
}

/// Sends mails: by SMTP, or into a folder in development.
struct MailSender: Sendable {
    /// Returns when the mail is on its way for good.
    var send: @Sendable (Mail) async throws -> Void
}

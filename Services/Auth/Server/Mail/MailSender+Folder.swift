import DocumentModel
import Foundation
import Logging

extension MailSender {
    /// Writes each mail to a file of its own and its link to the log: for development, without a mail server.
    static func folder(_ path: String, from sender: String, logger: Logger) -> MailSender {
        MailSender { mail in
            // Readable by people, so the body isn't encoded as it is on its way to a mail server.
            let text = """
                From: \(sender)
                To: \(mail.to)
                Subject: \(mail.subject)

                \(mail.body)

                """
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let file = path + "/" + ObjectId().hexString + ".eml"
            try Data(text.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
            logger.notice("mail written", metadata: ["mail.file": "\(file)", "mail.link": "\(mail.link)"])
        }
    }
}

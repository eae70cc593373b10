import DocumentModel
import Foundation
import Logging

extension MailSender {
    /// Writes each mail to a file of its own and its link to the log: for development, where nobody has a mail server.
    static func folder(_ path: String, from sender: String, logger: Logger) -> MailSender {
        MailSender { mail in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let file = path + "/" + ObjectId().hexString + ".eml"
            try Data(mail.message(from: sender).utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
            logger.notice("mail written", metadata: ["mail.file": "\(file)", "mail.link": "\(mail.link)"])
        }
    }
}

extension Mail {
    /// The message (RFC 5322) in UTF-8, lines ending in CRLF.
    func message(from sender: String) -> String {
        let lines = [
            "From: \(Self.header(sender))", "To: \(Self.header(to))", "Subject: \(Self.encodedWord(subject))",
            "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: 8bit", "",
        ]
        let text = body.split(separator: "\n", omittingEmptySubsequences: false)
        return (lines + text.map(String.init)).joined(separator: "\r\n") + "\r\n"
    }

    /// An address must not bring lines of its own.
    private static func header(_ text: String) -> String {
        String(text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }.map(Character.init))
    }

    /// RFC 2047, where the text isn't plain ASCII.
    private static func encodedWord(_ text: String) -> String {
        let clean = header(text)
        if clean.utf8.allSatisfy({ $0 < 0x80 }) { return clean }
        return "=?utf-8?B?\(Data(clean.utf8).base64EncodedString())?="
    }
}

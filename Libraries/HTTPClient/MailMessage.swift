import Foundation

/// A plain text mail (RFC 5322).
public struct MailMessage: Sendable {
    /// The sender's address, without name or angle brackets.
    public var from: String
    /// The recipient's address, without name or angle brackets.
    public var to: String
    /// The subject: one line of any characters.
    public var subject: String
    /// The body: lines of any characters.
    public var text: String
    /// The date of the mail.
    public var date: Date

    /// Makes a mail.
    public init(from: String, to: String, subject: String, text: String, date: Date = Date()) {
        self.from = from
        self.to = to
        self.subject = subject
        self.text = text
        self.date = date
    }

    /// Whether the text is a single address on one line, without a name. It need not exist.
    public static func isAddress(_ text: String) -> Bool { (try? MailAddress.check(text)) != nil }

    /// The mail in its transmitted form: header, empty line, body in Base64, with all lines ended by CR LF.
    /// - Throws: `HTTPClientError` with `invalidRequest` when an address could inject header fields.
    public func encoded() throws(HTTPClientError) -> [UInt8] {
        try MailAddress.check(from)
        try MailAddress.check(to)
        let domain = from.split(separator: "@").last.map(String.init) ?? "localhost"
        let lines = [
            "From: <\(from)>", "To: <\(to)>", "Subject: \(Self.encodedWords(subject))", "Date: \(Self.dateText(date))",
            "Message-ID: <\(UUID().uuidString.lowercased())@\(domain)>", "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: base64", "", base64Lines(),
        ]
        return Array((lines.joined(separator: "\r\n") + "\r\n").utf8)
    }

    /// RFC 2047: encodes text that isn't plain ASCII as words in Base64, each of at most 75 characters.
    package static func encodedWords(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }), text.utf8.count <= 900, !text.contains("=?") {
            return text
        }
        var words: [String] = []
        var word: [UInt8] = []
        for character in text.unicodeScalars {
            let bytes = Array(String(character).utf8)
            // With "Subject: " before the first, no line has more than 76 characters.
            if word.count + bytes.count > (words.isEmpty ? 36 : 45) {
                words.append(Data(word).base64EncodedString())
                word.removeAll()
            }
            word += bytes
        }
        words.append(Data(word).base64EncodedString())
        return words.map { "=?utf-8?B?\($0)?=" }.joined(separator: "\r\n ")
    }

    /// Completes all line breaks to CR LF. A line break without CR ends the line on some servers but not on others, which allows
    /// SMTP smuggling.
    package static func withLineEnds(_ message: [UInt8]) -> [UInt8] {
        var lines: [UInt8] = []
        lines.reserveCapacity(message.count + 64)
        let (lf, cr) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))
        for (index, byte) in message.enumerated() {
            if byte == lf, lines.last != cr { lines.append(cr) }
            lines.append(byte)
            if byte == cr, index + 1 == message.count || message[index + 1] != lf { lines.append(lf) }
        }
        return lines
    }

    private static func dateText(_ date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss '+0000'"
        return formatter.string(from: date)
    }

    private func base64Lines() -> String {
        Data(text.utf8).base64EncodedString(options: [
            .lineLength76Characters, .endLineWithCarriageReturn, .endLineWithLineFeed,
        ])
    }
}

enum MailAddress {
    /// Checks only that the text is a single address on one line, not whether it exists or is well-formed.
    static func check(_ address: String) throws(HTTPClientError) {
        let isSafe = address.utf8.allSatisfy { byte in
            byte > 0x20 && byte != 0x7f && !"<>,;\"\\()".utf8.contains(byte)
        }
        guard isSafe, address.split(separator: "@", omittingEmptySubsequences: false).count == 2,
            !address.hasPrefix("@"), !address.hasSuffix("@"), address.utf8.count <= 254
        else { throw HTTPClientError(.invalidRequest, "a malformed mail address") }
    }
}

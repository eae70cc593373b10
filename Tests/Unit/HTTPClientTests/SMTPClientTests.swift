import EventLoop
import Foundation
import HTTPClient
import Testing

@Suite struct SMTPClientTests {
    let loop = EventLoop(name: "smtp-client")

    @Test func `a mail arrives as it was written`() async throws {
        let session = Locked<[String]>([])
        let server = try LocalServer { Self.serve($0, session) }
        let client = SMTPClient(
            loop: loop,
            configuration: .init(
                host: "127.0.0.1", port: server.port, security: .none, user: "partita", password: "secret"))
        try await client.send(
            Array("Subject: hi\n\n.a dot\nlast".utf8), from: "a@example.org", to: ["b@example.org", "c@example.org"])
        let lines = session.withLock { $0 }
        #expect(lines.contains("AUTH PLAIN"))
        #expect(
            lines.contains("MAIL FROM:<a@example.org>") || lines.contains { $0.hasPrefix("MAIL FROM:<a@example.org> ") }
        )
        #expect(lines.contains("RCPT TO:<b@example.org>"))
        #expect(lines.contains("RCPT TO:<c@example.org>"))
        let data = try #require(lines.firstIndex(of: "DATA"))
        #expect(lines[(data + 1)...].prefix(5) == ["Subject: hi", "", "..a dot", "last", "."])
        await client.shutDown()
    }

    @Test func `a refusal by the server has a code`() async throws {
        let session = Locked<[String]>([])
        let server = try LocalServer { Self.serve($0, session) }
        var configuration = SMTPClient.Configuration(host: "127.0.0.1", port: server.port, security: .none)
        let client = SMTPClient(loop: loop, configuration: configuration)
        let mail = MailMessage(from: "a@example.org", to: "nobody@example.org", subject: "s", text: "t")
        await expect(.rejected) { try await client.send(mail) }
        let later = MailMessage(from: "a@example.org", to: "later@example.org", subject: "s", text: "t")
        await expect(.deferred) { try await client.send(later) }
        let demanding = MailMessage(from: "a@example.org", to: "login@example.org", subject: "s", text: "t")
        await expect(.authentication) { try await client.send(demanding) }
        configuration.user = "partita"
        configuration.password = "wrong"
        let other = SMTPClient(loop: loop, configuration: configuration)
        await expect(.authentication) { try await other.send(mail) }
        configuration.security = .startTLS
        let third = SMTPClient(loop: loop, configuration: configuration)
        await expect(.tls) { try await third.send(mail) }
    }

    @Test(arguments: ["", "a", "@", "a@", "@b", "a@b@c", "a@b>\r\nDATA", "a b@c", "<a@b>", "a@b,c@d"])
    func `an address that isn't one address is refused`(address: String) async {
        let client = SMTPClient(loop: loop, configuration: .init(host: "127.0.0.1", port: 1))
        await expect(.invalidRequest) { try await client.send([], from: "a@example.org", to: [address]) }
        #expect(throws: HTTPClientError.self) {
            try MailMessage(from: "a@example.org", to: address, subject: "", text: "").encoded()
        }
    }

    @Test func `a mail server is given by a URL`() throws {
        let tls = try SMTPClient.Configuration(url: "smtps://a%40b:p%3Aw@mail.example.org")
        #expect(tls.host == "mail.example.org" && tls.port == 465 && tls.security == .tls)
        #expect(tls.user == "a@b" && tls.password == "p:w")
        let startTLS = try SMTPClient.Configuration(url: "smtp://mail.example.org:2525")
        #expect(startTLS.port == 2525 && startTLS.security == .startTLS && startTLS.user == nil)
        let plain = try SMTPClient.Configuration(url: "smtp://[::1]:25?starttls=off")
        #expect(plain.host == "::1" && plain.security == .none)
        for url in ["", "mail.example.org", "http://mail.example.org", "smtp://", "smtps://h?starttls=off"] {
            #expect(throws: HTTPClientError.self) { try SMTPClient.Configuration(url: url) }
        }
    }

    @Test func `a message is encoded so that any text survives`() throws {
        let subject = "Bestätige 😀 " + String(repeating: "é", count: 60)
        let mail = MailMessage(
            from: "a@example.org", to: "b@example.org", subject: subject,
            text: "Grüße\n" + String(repeating: "x", count: 200),
            date: Date(timeIntervalSince1970: 0))
        let text = String(decoding: try mail.encoded(), as: UTF8.self)
        let lines = text.components(separatedBy: "\r\n")
        #expect(lines.allSatisfy { $0.utf8.count <= 78 && !$0.contains("\n") })
        #expect(lines.contains("Date: Thu, 01 Jan 1970 00:00:00 +0000"))
        let words = text.components(separatedBy: "=?utf-8?B?").dropFirst().map { $0.components(separatedBy: "?=")[0] }
        #expect(
            words.compactMap { Data(base64Encoded: $0) }.map { String(decoding: $0, as: UTF8.self) }.joined() == subject
        )
        let body = try #require(text.components(separatedBy: "\r\n\r\n").last)
        #expect(Data(base64Encoded: body, options: .ignoreUnknownCharacters) == Data(mail.text.utf8))
        #expect(MailMessage.encodedWords("plain: it's fine") == "plain: it's fine")
        #expect(MailMessage.encodedWords("two\r\nlines").hasPrefix("=?utf-8?B?"))
    }

    @Test(arguments: [
        ("a\nb", "a\r\nb"), ("a\r\nb\r\n", "a\r\nb\r\n"), ("a\rb", "a\r\nb"), ("\n\n", "\r\n\r\n"), ("a\r", "a\r\n"),
    ])
    func `every line of a message ends with CR LF`(message: String, expected: String) {
        #expect(MailMessage.withLineEnds(Array(message.utf8)) == Array(expected.utf8))
    }

    private func expect(
        _ code: HTTPClientError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
    ) async {
        let error = await #expect(throws: HTTPClientError.self, sourceLocation: sourceLocation) { try await body() }
        #expect(error?.code == code, sourceLocation: sourceLocation)
    }

    private static func serve(_ connection: LocalConnection, _ session: Locked<[String]>) {
        connection.write("220 local\r\n")
        var isData = false
        while let line = connection.readLine() {
            session.withLock { $0.append(line) }
            if isData {
                guard line == "." else { continue }
                isData = false
                connection.write("250 taken\r\n")
                continue
            }
            switch line.prefix(4) {
            case "EHLO": connection.write("250-local\r\n250 AUTH PLAIN\r\n")
            case "AUTH":
                connection.write("334 \r\n")
                let isRight = connection.readLine() == Data("\0partita\0secret".utf8).base64EncodedString()
                connection.write(isRight ? "235 welcome\r\n" : "535 wrong\r\n")
            case "RCPT" where line.contains("nobody"): connection.write("550 unknown\r\n")
            case "RCPT" where line.contains("login"): connection.write("530 authentication required\r\n")
            case "RCPT" where line.contains("later"): connection.write("451 busy\r\n")
            case "RCPT": connection.write("250 fine\r\n")
            case "DATA":
                isData = true
                connection.write("354 go on\r\n")
            case "QUIT":
                connection.write("221 bye\r\n")
                return
            default: connection.write("250 fine\r\n")
            }
        }
    }
}

private import Clibpq
import EventLoop

/// The keywords and values that libpq connects with: those of the URL, and this library's defaults for the others.
struct ConnectionParameters: Sendable {
    private var values: [(keyword: String, value: String)]

    init(_ configuration: PostgresConfiguration) throws(PostgresError) {
        var values = try Self.parse(configuration.url)
        func defaultTo(_ keyword: String, _ value: String) {
            if !values.contains(where: { $0.keyword == keyword }) { values.append((keyword, value)) }
        }
        if let password = configuration.password { defaultTo("password", password) }
        defaultTo("application_name", configuration.applicationName)
        defaultTo("client_encoding", "UTF8")
        // A peer that vanished is detected within half a minute.
        defaultTo("keepalives_idle", "15")
        defaultTo("keepalives_interval", "5")
        defaultTo("keepalives_count", "3")
        defaultTo("tcp_user_timeout", "30000")
        var options = configuration.settings.sorted { $0.key < $1.key }.map { Self.option($0.key, $0.value) }
        if let timeout = configuration.statementTimeout, configuration.settings["statement_timeout"] == nil {
            options.insert(Self.option("statement_timeout", "\(timeout.milliseconds)"), at: 0)
        }
        if configuration.settings["jit"] == nil {
            // Statements are short. Compiling a filter of thousands of conditions takes minutes and gigabytes, and no cancellation ends it.
            options.insert(Self.option("jit", "off"), at: 0)
        }
        if !options.isEmpty {
            // The URL's own options come last and so take precedence.
            let index = values.firstIndex { $0.keyword == "options" }
            let given = index.map { values.remove(at: $0).value }
            values.append(("options", (options + (given.map { [$0] } ?? [])).joined(separator: " ")))
        }
        self.values = values
    }

    /// What is wrong with the URL; `nil` if nothing is known to be.
    var problem: String? {
        for (keyword, value) in values {
            switch keyword {
            case "port" where !value.split(separator: ",", omittingEmptySubsequences: false).allSatisfy(Self.isPort):
                return
                    "has a port that is no number from 1 to 65535; in a user or password, / ? # @ : and % are written %2F %3F %23 %40 %3A %25"
            case "sslmode" where !Self.sslModes.contains(value):
                return "has an sslmode that isn't one of \(Self.sslModes.joined(separator: ", "))"
            default: continue
            }
        }
        return nil
    }

    /// The files that the URL names; `system` stands for the system's authorities, and a key may be one of an engine of OpenSSL.
    var files: [String] {
        values.filter { keyword, value in
            switch keyword {
            case "sslrootcert": value != "system"
            case "sslkey": !value.contains(":")
            case "sslcert", "sslcrl": true
            default: false
            }
        }.map(\.value)
    }

    /// Whether the URL has a password.
    var hasPassword: Bool { values.contains { $0.keyword == "password" && !$0.value.isEmpty } }

    /// The parameters of a URL as one text, `host='…' dbname='…'`, but for those that libpq calls secret, and these.
    static func split(_ url: String) throws(PostgresError) -> (parameters: String, secrets: [String: String]) {
        var secrets: [String: String] = [:], others: [String] = []
        let isSecret = secretKeywords()
        for (keyword, value) in try parse(url) {
            if isSecret.contains(keyword) {
                if !value.isEmpty { secrets[keyword] = value }
            } else {
                others.append("\(keyword)=\(quoted(value))")
            }
        }
        return (others.joined(separator: " "), secrets)
    }

    /// The keywords whose values a program must show as asterisks: `password`, `sslpassword`, and those of later versions.
    private static func secretKeywords() -> Set<String> {
        guard let options = PQconndefaults() else { return ["password", "sslpassword"] }
        defer { PQconninfoFree(options) }
        var keywords: Set<String> = []
        var option = options
        while let keyword = option.pointee.keyword {
            if let mark = option.pointee.dispchar, mark[0] == 0x2A { keywords.insert(String(cString: keyword)) }
            option += 1
        }
        return keywords
    }

    /// A value as libpq reads it between quotes. By scalars: a quote may be followed by what makes one character of both.
    private static func quoted(_ value: String) -> String {
        var text = "'"
        for scalar in value.unicodeScalars {
            if scalar == "\\" || scalar == "'" { text.unicodeScalars.append("\\") }
            text.unicodeScalars.append(scalar)
        }
        return text + "'"
    }

    private static let sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]

    /// Whether a text is a port: each of several hosts has its own; an empty one is libpq's default.
    private static func isPort(_ text: Substring) -> Bool { text.isEmpty || (1...65_535).contains(Int(text) ?? 0) }

    private static func option(_ name: String, _ value: String) -> String {
        var escaped = ""
        for character in value {
            if character == "\\" || character == " " { escaped.append("\\") }
            escaped.append(character)
        }
        return "-c \(name)=\(escaped)"
    }

    private static func parse(_ url: String) throws(PostgresError) -> [(keyword: String, value: String)] {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(url, &message) else {
            // libpq's message quotes the URL, which may contain a password.
            PQfreemem(message)
            throw PostgresError(.invalidConfiguration, "the Postgres URL can't be read")
        }
        defer { PQconninfoFree(options) }
        var values: [(keyword: String, value: String)] = []
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values.append((String(cString: keyword), String(cString: value))) }
            option += 1
        }
        return values
    }

    /// A connection that libpq has begun to open.
    struct Started: @unchecked Sendable {
        // Passed once, from the thread that began it to the loop that owns it.
        let pointer: OpaquePointer?
    }

    /// Begins to connect, on a thread that is allowed to block.
    func start() async -> Started {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Started, Never>) in
            BlockingWork.run {
                continuation.resume(returning: begin())
            }
        }
    }

    private func begin() -> Started {
        var keywords: [UnsafePointer<CChar>?] = [], texts: [UnsafePointer<CChar>?] = []
        var copies: [UnsafeMutablePointer<CChar>?] = []
        defer { for copy in copies { copy?.deallocate() } }
        func copy(_ text: String) -> UnsafePointer<CChar>? {
            let bytes = text.utf8CString
            let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
            for (index, byte) in bytes.enumerated() { copy[index] = byte }
            copies.append(copy)
            return UnsafePointer(copy)
        }
        for (keyword, value) in values {
            keywords.append(copy(keyword))
            texts.append(copy(value))
        }
        keywords.append(nil)
        texts.append(nil)
        return Started(pointer: PQconnectStartParams(keywords, texts, 0))
    }
}

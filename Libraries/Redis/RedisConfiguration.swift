import TLS
import Texts

/// The address of Redis, and the limits of a client.
public struct RedisConfiguration: Sendable {
    /// The host's name or address; not used if `path` is set.
    public var host = "127.0.0.1"
    public var port = 6379
    /// The path of a Unix socket; `nil` to use `host` and `port`.
    public var path: String?
    public var username: String?
    public var password: String?
    public var database = 0
    /// The certificates to trust if the server uses TLS; `nil` without TLS.
    var trust: TLSTrust?
    /// The name that `CLIENT LIST` shows; it must not contain spaces.
    public var clientName = "partita"
    /// The number of connections of a client; each is shared by any number of tasks.
    public var connections = 1
    /// The time limit for one attempt to resolve the name, connect and sign in.
    public var connectTimeout = Duration.seconds(3)
    /// A connection is closed if the server gives no answer for this long while commands wait for one.
    public var answerTimeout = Duration.seconds(5)
    /// How long a command waits while there is no connection.
    public var unavailableTimeout = Duration.seconds(3)
    /// How many commands may be unanswered on one connection, and how many may wait for a connection.
    public var maximumPending = 100_000

    /// The name of the setting with the URL; the log names it if the URL is the likely cause of a failure.
    public var setting: String?

    public init() {}

    /// Reads `redis://[[user][:password]@]host[:port][/database]`, the same with `rediss://` for TLS, or `unix:///path/of/socket`.
    ///
    /// With `rediss:` the server's certificate must name the host. The parameters `cacert`, `cert` and `key`, as in
    /// `rediss://host?cacert=/etc/partita/ca.pem`, name files: authorities to trust instead of the system's, and a certificate of
    /// the client's own with its key.
    ///
    /// Throws ``RedisError/Code/invalidConfiguration``.
    public init(url: String) throws(RedisError) {
        if let path = url.removing(prefix: "unix://") {
            self.path = path
            return
        }
        guard var rest = url.removing(prefix: "redis://") ?? url.removing(prefix: "rediss://") else {
            throw RedisError(.invalidConfiguration, "a Redis URL begins with redis://, rediss:// or unix://")
        }
        if url.hasPrefix("rediss:") {
            var parameters = ""
            if let mark = rest.firstIndex(of: "?") {
                parameters = String(rest[rest.index(after: mark)...])
                rest = String(rest[..<mark])
            }
            trust = try Self.trust(parameters)
        }
        if let at = rest.lastIndex(of: "@") {
            let credentials = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            rest = String(rest[rest.index(after: at)...])
            if !credentials[0].isEmpty { username = try Self.unescaped(credentials[0]) }
            // Without one, it is set separately.
            if credentials.count == 2, !credentials[1].isEmpty { password = try Self.unescaped(credentials[1]) }
        }
        if let slash = rest.firstIndex(of: "/") {
            let text = rest[rest.index(after: slash)...]
            guard text.isEmpty || Int(text) != nil else {
                throw RedisError(.invalidConfiguration, "a Redis database is a number")
            }
            database = Int(text) ?? 0
            rest = String(rest[..<slash])
        }
        // The colons of an IPv6 address are in brackets.
        if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("]") {
            guard let number = Int(rest[rest.index(after: colon)...]), (1...65535).contains(number) else {
                throw RedisError(.invalidConfiguration, "the port of the Redis URL isn't a number from 1 to 65535")
            }
            port = number
            rest = String(rest[..<colon])
        }
        if rest.hasPrefix("["), rest.hasSuffix("]") { rest = String(rest.dropFirst().dropLast()) }
        if !rest.isEmpty { host = rest }
    }

    /// The files that its parameters name.
    public var files: [String] { [trust?.authorities, trust?.certificate, trust?.key].compactMap { $0?.wrappedValue } }

    private static func trust(_ parameters: String) throws(RedisError) -> TLSTrust {
        var files: [String: String] = [:]
        for parameter in parameters.split(separator: "&") {
            let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, ["cacert", "cert", "key"].contains(parts[0]) else {
                throw RedisError(.invalidConfiguration, "a Redis URL allows only the parameters cacert, cert and key")
            }
            files[String(parts[0])] = try unescaped(parts[1])
        }
        guard (files["cert"] == nil) == (files["key"] == nil) else {
            throw RedisError(.invalidConfiguration, "a Redis URL needs both cert and key, or neither")
        }
        return TLSTrust(authorities: files["cacert"], certificate: files["cert"], key: files["key"])
    }

    private static func unescaped(_ text: Substring) throws(RedisError) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let code = Hex.bytes(rest.prefix(2)), !code.isEmpty else {
                throw RedisError(.invalidConfiguration, "the Redis URL has a % that escapes nothing")
            }
            bytes += code
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension String {
    fileprivate func removing(prefix: String) -> String? { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil }
}

/// A failure of this library or of the server.
public struct RedisError: Error, Sendable, Hashable {
    /// Kinds of failure. A struct, so that a new kind breaks no `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case server, connectionFailed, connectionLost, closed, unavailable, overloaded, timeout,
                invalidConfiguration, unexpectedReply
        }
        private let base: Base
        private init(_ base: Base) { self.base = base }

        /// The server answered with an error; `prefix` has its kind.
        public static let server = Code(.server)
        /// No connection could be opened.
        public static let connectionFailed = Code(.connectionFailed)
        /// The connection ended with the command unanswered; whether it took effect is unknown.
        public static let connectionLost = Code(.connectionLost)
        /// The connection or the client had been closed before.
        public static let closed = Code(.closed)
        /// There was no connection for as long as a command may wait for one.
        public static let unavailable = Code(.unavailable)
        /// Too many commands are unanswered already.
        public static let overloaded = Code(.overloaded)
        /// The server gave no answer in time, and the connection was closed.
        public static let timeout = Code(.timeout)
        /// The URL is wrong.
        public static let invalidConfiguration = Code(.invalidConfiguration)
        /// The reply doesn't have the expected type.
        public static let unexpectedReply = Code(.unexpectedReply)

        public var description: String { base.rawValue }
    }

    public var code: Code
    /// The message of the server or of this library. May quote data.
    public var message: String
    public var file: String
    public var line: Int

    public init(_ code: Code, _ message: String, file: String = #fileID, line: Int = #line) {
        self.code = code
        self.message = message
        self.file = file
        self.line = line
    }

    /// The first word of a server's error: `ERR`, `WRONGTYPE`, `NOSCRIPT`, `LOADING`, …
    public var prefix: String? {
        code == .server ? String(message.prefix { $0 != " " }) : nil
    }

    /// Whether the same command, sent again, may succeed.
    public var isRetriable: Bool {
        switch code {
        case .connectionFailed, .connectionLost, .unavailable, .overloaded, .timeout: true
        case .server: ["LOADING", "BUSY", "TRYAGAIN", "MASTERDOWN", "READONLY", "CLUSTERDOWN"].contains(prefix ?? "")
        default: false
        }
    }

    /// Whether a replica refused the command. A server that becomes one keeps its clients, although its name may lead to the new
    /// primary.
    var isFromReplica: Bool { prefix == "READONLY" || prefix == "MASTERDOWN" }

    /// Whether the command may have taken effect although it failed.
    public var isOutcomeUnknown: Bool { code == .connectionLost || code == .timeout }
}

extension RedisError: CustomStringConvertible, CustomDebugStringConvertible {
    /// Safe to log: of a server's error only the first word, unless it is about the server's state or the user's rights.
    public var description: String {
        let isSafe = prefix.map { Self.withoutData.contains($0) } ?? true
        return "RedisError(\(code), \(isSafe ? message : prefix ?? ""))"
    }

    private static let withoutData: Set = ["NOPERM", "OOM", "WRONGPASS", "NOAUTH", "MISCONF", "READONLY", "LOADING"]

    public var debugDescription: String { "RedisError(\(code), \(message), at \(file):\(line))" }
}

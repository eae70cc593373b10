import Ccurl
import EventLoop

/// Sends mails to a mail server. It runs on a loop, and may be called from anywhere.
public actor SMTPClient: LoopActor {
    /// How the connection is protected.
    public enum Security: String, Sendable, CaseIterable {
        /// Plain text, for a server on the same machine.
        case none
        /// Plain text at first, then TLS; fails if the server doesn't offer it.
        case startTLS = "starttls"
        /// TLS from the first byte.
        case tls
    }

    /// The server and the settings of the connection.
    public struct Configuration: Sendable {
        /// The server's name or address.
        public var host: String
        /// The server's port.
        public var port: Int
        /// How the connection is protected.
        public var security: Security
        /// The name for signing in; `nil` doesn't sign in.
        public var user: String?
        /// The password for signing in.
        public var password: String?
        /// The time limit for sending a mail (default: 30 s).
        public var timeout: Duration = .seconds(30)
        /// A file of certificates to trust instead of the system's.
        public var certificateAuthorityFile: String?

        /// Makes a configuration.
        public init(
            host: String, port: Int = 587, security: Security = .startTLS, user: String? = nil, password: String? = nil
        ) {
            self.host = host
            self.port = port
            self.security = security
            self.user = user
            self.password = password
        }
    }

    /// The loop of the sockets.
    public nonisolated let loop: EventLoop
    private nonisolated let configuration: Configuration
    private var multi: CurlMulti?
    private var isShutDown = false

    /// Makes a client without connections.
    public init(loop: EventLoop, configuration: Configuration) {
        self.loop = loop
        self.configuration = configuration
    }

    isolated deinit { multi?.close() }

    /// Sends a mail. When it returns, the server has accepted it.
    /// - Throws: `HTTPClientError`; `CancellationError`.
    public func send(_ message: MailMessage) async throws {
        try await send(message.encoded(), from: message.from, to: [message.to])
    }

    /// Sends a mail. When it returns, the server has accepted it for all recipients.
    /// - Parameters:
    ///   - message: Header and body according to RFC 5322. A CR is added to lines that end with LF only.
    ///   - from: The envelope sender, which receives bounces.
    ///   - to: The recipients' addresses, at least one.
    /// - Throws: `HTTPClientError`; `CancellationError`, after which the mail may or may not have been accepted.
    public func send(_ message: [UInt8], from: String, to: [String]) async throws {
        if isShutDown { throw HTTPClientError.shutDown }
        let transfer = try SMTPTransfer(message, from: from, to: to, configuration)
        let multi = try self.multi ?? CurlMulti(loop)
        self.multi = multi
        try multi.add(transfer)
        defer { self.multi?.remove(transfer) }  // after a cancellation
        try await withTaskCancellationHandler {
            try await transfer.wait(isolation: self)
        } onCancel: {
            loop.execute { transfer.end(.failure(CancellationError())) }
        }
    }

    /// Ends transfers in flight with `closed`, closes all connections, and accepts no more mails.
    public func shutDown() {
        isShutDown = true
        multi?.close()
        multi = nil
    }
}

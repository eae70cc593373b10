/// An error of the server itself.
public struct HTTPServerError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String { case portInUse, cannotListen, alreadyStarted, connectionClosed }
        private let kind: Kind

        /// Another socket listens on the port.
        public static let portInUse = Code(kind: .portInUse)
        /// The address isn't one of this machine, or the system refuses it.
        public static let cannotListen = Code(kind: .cannotListen)
        /// `run()` or `start()` was called a second time.
        public static let alreadyStarted = Code(kind: .alreadyStarted)
        /// The connection was lost while its response was written.
        public static let connectionClosed = Code(kind: .connectionClosed)

        public var description: String { kind.rawValue }
    }

    /// The kind of failure.
    public let code: Code
    /// The message for logs; not stable.
    public let message: String
    /// The requested port, if the error concerns one.
    public let port: Int?

    init(_ code: Code, _ message: String, port: Int? = nil) {
        self.code = code
        self.message = message
        self.port = port
    }

    public var description: String { port.map { "\(code): port \($0): \(message)" } ?? "\(code): \(message)" }
}

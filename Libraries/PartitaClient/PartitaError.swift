/// An error of the client.
public struct PartitaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of error it is.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case unreachable, refused, badResponse, signedOut, badPartition, badWrite, badPresence, revoked, store,
                closed
        }
        private let name: Name
        private init(_ name: Name) { self.name = name }

        public var description: String { name.rawValue }

        /// The backend can't be reached; the call may be tried again.
        public static let unreachable = Code(.unreachable)
        /// The backend refused the call; `serverCode` has the reason.
        public static let refused = Code(.refused)
        /// The backend's response can't be parsed.
        public static let badResponse = Code(.badResponse)
        /// The session has ended: the user must sign in again.
        public static let signedOut = Code(.signedOut)
        /// The value can't be that of a partition.
        public static let badPartition = Code(.badPartition)
        /// An operation that can't be made: no `_id`, malformed operators, or operators that don't fit the document.
        public static let badWrite = Code(.badWrite)
        /// A presence state, its data or the ids of watched users beyond their limits.
        public static let badPresence = Code(.badPresence)
        /// The user may not read the partition.
        public static let revoked = Code(.revoked)
        /// The local store failed.
        public static let store = Code(.store)
        /// The session or the partition was closed by the app.
        public static let closed = Code(.closed)
    }

    /// What kind of error it is.
    public var code: Code
    /// A sentence for people.
    public var message: String
    /// The backend's own error code, such as `InvalidPassword`; `nil` when it sent none.
    public var serverCode: String?

    public init(code: Code, message: String, serverCode: String? = nil) {
        self.code = code
        self.message = message
        self.serverCode = serverCode
    }

    public var description: String { "\(code): \(message)\(serverCode.map { " (\($0))" } ?? "")" }
}

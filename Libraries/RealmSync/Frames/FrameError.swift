/// Why a message of a client can't be read. All of these end the connection.
public struct FrameError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The number to answer with.
    public let code: RealmErrorCode
    /// The byte of the message at which it was found; in a compressed body, that of the uncompressed one.
    public let offset: Int
    /// The error in one sentence, without contents of the message.
    public let message: String
    /// Whether the message is larger than the limit: it can't be sent, however often the client tries.
    public let isTooLarge: Bool

    public init(_ code: RealmErrorCode, at offset: Int, _ message: String, isTooLarge: Bool = false) {
        self.code = code
        self.offset = offset
        self.message = message
        self.isTooLarge = isTooLarge
    }

    public var description: String { "\(message) (\(code.rawValue) at byte \(offset))" }
}

/// How much of a client's message is read.
public struct FrameLimits: Sendable {
    /// The most bytes of a body once it is uncompressed.
    public var bytes: Int
    /// The most bytes of a partition's name.
    public var pathBytes: Int
    /// The most bytes of a token.
    public var tokenBytes: Int
    /// The most changesets of an upload.
    public var changesets: Int

    public init(
        bytes: Int = 16 << 20, pathBytes: Int = 64 << 10, tokenBytes: Int = 64 << 10, changesets: Int = 100_000
    ) {
        self.bytes = bytes
        self.pathBytes = pathBytes
        self.tokenBytes = tokenBytes
        self.changesets = changesets
    }

    /// The most bytes of a message: of a body, or of the longest of the others, and of its line.
    public var messageBytes: Int { bytes + pathBytes + tokenBytes + 1024 }
}

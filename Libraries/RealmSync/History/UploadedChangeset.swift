/// A changeset as a client uploads it.
public struct UploadedChangeset: Hashable, Sendable {
    /// The client's version that it made; ascending.
    public var clientVersion: UInt64
    /// The version of the history that the client had then.
    public var serverVersion: UInt64
    /// When it was made, by the client's clock, in milliseconds since 2015. It may not be corrected: the client merges by it, too.
    public var originTimestamp: UInt64
    /// Where it was made; 0 is the client file that uploads it, and nothing else is accepted.
    public var originFileIdent: UInt64
    /// The changeset.
    public var bytes: [UInt8]

    public init(
        clientVersion: UInt64, serverVersion: UInt64, originTimestamp: UInt64, originFileIdent: UInt64 = 0,
        bytes: [UInt8]
    ) {
        self.clientVersion = clientVersion
        self.serverVersion = serverVersion
        self.originTimestamp = originTimestamp
        self.originFileIdent = originFileIdent
        self.bytes = bytes
    }
}

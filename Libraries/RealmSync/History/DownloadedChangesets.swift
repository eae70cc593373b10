/// A changeset of the history as a client downloads it.
public struct DownloadedChangeset: Hashable, Sendable {
    /// Its place in the history.
    public var serverVersion: UInt64
    /// The newest version of the receiving client that comes before it in the history. The client merges it with what is newer.
    public var clientVersion: UInt64
    /// When it was made, in milliseconds since 2015.
    public var originTimestamp: UInt64
    /// The client file in which it was made.
    public var originFileIdent: UInt64
    /// The changeset.
    public var bytes: [UInt8]

    public init(
        serverVersion: UInt64, clientVersion: UInt64, originTimestamp: UInt64, originFileIdent: UInt64, bytes: [UInt8]
    ) {
        self.serverVersion = serverVersion
        self.clientVersion = clientVersion
        self.originTimestamp = originTimestamp
        self.originFileIdent = originFileIdent
        self.bytes = bytes
    }
}

/// What a client doesn't have of a history yet, or the first part of it.
public struct DownloadedChangesets: Hashable, Sendable {
    /// The version up to which the client has the history then.
    public var serverVersion: UInt64
    /// The newest of its own versions up to there.
    public var clientVersion: UInt64
    /// The newest of its versions that was integrated: what is acknowledged.
    public var uploadClientVersion: UInt64
    /// Without its own and without empty ones.
    public var changesets: [DownloadedChangeset] = []

    /// Cursors without changesets.
    public init(serverVersion: UInt64, clientVersion: UInt64, uploadClientVersion: UInt64) {
        self.serverVersion = serverVersion
        self.clientVersion = clientVersion
        self.uploadClientVersion = uploadClientVersion
    }
}

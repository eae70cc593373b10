/// A message of a client (Realm sync protocol, versions 2 to 14, partition-based).
public enum ClientFrame: Hashable, Sendable {
    /// A session begins with a partition.
    case bind(BindFrame)
    /// The client says who it is and what it has.
    case ident(IdentFrame)
    /// What the client has done, and how far it is.
    case upload(UploadFrame)
    /// The client wants to know when it has received everything that there is now.
    case mark(session: UInt64, request: UInt64)
    /// A session ends.
    case unbind(session: UInt64)
    /// The client is there: its clock, and the time that the last answer took, in milliseconds.
    case ping(timestamp: UInt64, roundTrip: UInt64)
    /// The client can't go on with a session; `json` is its reason.
    case error(session: UInt64, code: UInt64, json: [UInt8])
}

/// `BIND`.
public struct BindFrame: Hashable, Sendable {
    /// The session's number, which the client has chosen.
    public var session: UInt64
    /// The partition: its value as canonical Extended JSON, not checked.
    public var path: [UInt8]
    /// A token; empty except with old clients.
    public var token: [UInt8]
    /// Whether the client needs a number for its file.
    public var needsIdent: Bool
}

/// `IDENT`.
public struct IdentFrame: Hashable, Sendable {
    public var session: UInt64
    /// The client file, and the secret that it was given with its number.
    public var fileIdent: UInt64
    public var fileIdentSalt: UInt64
    /// How far the client has downloaded: the version of the history, and of itself there.
    public var downloadServerVersion: UInt64
    public var downloadClientVersion: UInt64
    /// The newest version of the history that it knows, with that version's salt.
    public var latestServerVersion: UInt64
    public var latestServerVersionSalt: UInt64
}

/// `UPLOAD`.
public struct UploadFrame: Hashable, Sendable {
    public var session: UInt64
    /// How far the client has looked at its own changes.
    public var progressClientVersion: UInt64
    /// The version of the history that it had there.
    public var progressServerVersion: UInt64
    /// The version from which on the history has to be kept for the client.
    public var lockedServerVersion: UInt64
    /// The changesets, maybe compressed.
    public var body: FrameBody

    /// The changesets.
    /// - Parameters:
    ///   - inflate: Decompresses a zlib stream (RFC 1950) that has the given size uncompressed; nil if it hasn't. It must not write more.
    /// - Throws: `FrameError`.
    public func changesets(
        limits: FrameLimits = FrameLimits(), inflate: (_ bytes: [UInt8], _ size: Int) -> [UInt8]? = ZlibStream.inflate
    ) throws(FrameError) -> [UploadedChangeset] {
        let content = try body.content(inflate: inflate)
        var reader = FrameReader(content[...], code: .badChangesetHeader), changesets: [UploadedChangeset] = []
        while !reader.isAtEnd {
            guard changesets.count < limits.changesets else {
                throw reader.fault("it has more than \(limits.changesets) changesets, the limit")
            }
            let client = try reader.number(before: " "), server = try reader.number(before: " ")
            let timestamp = try reader.number(before: " "), ident = try reader.number(before: " ")
            let size = try reader.number(before: " ")
            guard size <= content.count else { throw reader.fault("it ends before its size", .badChangesetSize) }
            changesets.append(
                UploadedChangeset(
                    clientVersion: client, serverVersion: server, originTimestamp: timestamp, originFileIdent: ident,
                    bytes: Array(try reader.counted(size))))
        }
        return changesets
    }
}

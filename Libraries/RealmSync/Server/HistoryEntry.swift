import DocumentModel

/// A changeset of a partition's history, as it is stored.
package struct HistoryEntry: Sendable {
    package var version: Int64
    package var salt: Int64
    package var file: Int64
    package var clientVersion: Int64
    /// The client's version that is acknowledged with it, which may be later than that of the changeset; 0 if it isn't.
    package var acknowledges: Int64
    package var originTime: Int64
    /// The only client file that gets it.
    package var audience: Int64?
    package var bytes: [UInt8]
    /// The objects that it changes, if it changes nothing else and they are known: they are of what this gateway has added.
    var objects: Set<ObjectKey>?
    /// The writes of the audience that it undoes: before it is sent, the client is told of them.
    package var refused: [SessionError.CompensatingWrite] = []

    package init(
        version: Int64, salt: Int64 = Self.salt(), file: Int64, clientVersion: Int64, acknowledges: Int64 = 0,
        originTime: Int64, audience: Int64? = nil, bytes: [UInt8]
    ) {
        self.version = version
        self.salt = salt
        self.file = file
        self.clientVersion = clientVersion
        self.acknowledges = acknowledges
        self.originTime = originTime
        self.audience = audience
        self.bytes = bytes
    }

    /// One of the server.
    package init(_ changeset: Changeset, version: Int64, time: Int64, audience: Int64? = nil) {
        self.init(
            version: version, file: 1, clientVersion: 0, originTime: time, audience: audience,
            bytes: changeset.encoded())
        objects = changeset.changedObjects
    }

    /// As a client sees it.
    package func seen(by file: Int64) -> ServerHistory.Entry {
        let isHidden = audience.map { $0 != file } ?? false
        var entry = ServerHistory.Entry(
            fileIdent: UInt64(self.file), clientVersion: UInt64(clientVersion),
            originTimestamp: UInt64(max(0, originTime)), bytes: isHidden ? [] : bytes)
        entry.objects = objects
        return entry
    }

    package static func salt() -> Int64 { Int64.random(in: 1...Int64.max) }
}

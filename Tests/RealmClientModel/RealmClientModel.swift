public import DocumentModel
public import RealmMessages
public import RealmSync

/// What a client with a Realm SDK has of a partition: objects, which it changes and merges as realm-core does. It sends and receives
/// nothing itself.
///
/// Written from the protocol's description.
public struct RealmClientModel: Sendable {
    public struct Unexpected: Error {
        public let what: String

        public init(what: String) { self.what = what }
    }

    public private(set) var objects = PartitionObjects()
    public var file: (ident: UInt64, salt: UInt64)?
    /// What it has committed and isn't acknowledged.
    public private(set) var pending: [UploadedChangeset] = []
    public private(set) var downloaded: (server: UInt64, client: UInt64) = (0, 0)
    /// The newest version of its own, and the newest that the server has acknowledged.
    public private(set) var version: UInt64 = 3
    public private(set) var acknowledged: UInt64 = 0
    /// The bytes of the changesets that it was sent.
    public private(set) var receivedBytes = 0
    private var own: [HistoryWindow.Entry] = []
    private var latest: (version: UInt64, salt: UInt64) = (0, 0)
    private var sent: UInt64 = 0
    /// The clock that says when a change was made.
    private var clock: UInt64 = 350_000_000_000

    public init() {}

    // MARK: Changes

    /// Commits a change of objects, as a transaction of the app does.
    public mutating func write(_ changes: [(key: ObjectKey, object: Document?)]) throws {
        try commit(
            objects.change(
                try changes.map { key, object in
                    guard var document = object else { return (key, nil) }
                    document["_id"] = key.id.value
                    return try objects.schema.object(of: document, table: key.table)
                }))
    }

    /// Commits a changeset that is applied already.
    public mutating func commit(_ changeset: Changeset) throws {
        version += 1
        clock += 1
        let upload = UploadedChangeset(
            clientVersion: version, serverVersion: downloaded.server, originTimestamp: clock,
            bytes: changeset.encoded())
        pending.append(upload)
        own.append(
            .init(
                version: version,
                changeset: MergedChangeset(
                    try Changeset(upload.bytes), origin: ChangesetOrigin(timestamp: clock, fileIdent: file?.ident ?? 0))
            ))
    }

    /// Applies and commits a changeset.
    public mutating func apply(_ changeset: Changeset) throws {
        try objects.apply(changeset)
        try commit(changeset)
    }

    /// Sets the clock forward, so that its changes are later than those of others.
    public mutating func advanceClock(by milliseconds: UInt64) { clock += milliseconds }

    /// Sets the clock to when the next change is made.
    public mutating func setClock(to milliseconds: UInt64) { clock = milliseconds - 1 }

    // MARK: Messages

    /// Says what it has, when a session begins.
    public mutating func ident() -> [UInt8] {
        sent = 0
        return RealmMessage.ident(file ?? (0, 0), downloaded: downloaded, latest: latest)
    }

    /// Whether there is something that isn't acknowledged and wasn't sent in the session.
    public var hasUnsent: Bool { pending.contains { $0.clientVersion > sent } }

    /// What isn't acknowledged and wasn't sent in the session.
    public mutating func upload() -> [UInt8] {
        var body: [UInt8] = []
        for upload in pending where upload.clientVersion > sent {
            body +=
                "\(upload.clientVersion) \(upload.serverVersion) \(upload.originTimestamp) 0 \(upload.bytes.count) "
                .utf8
            body += upload.bytes
            sent = upload.clientVersion
        }
        return RealmMessage.bytes(
            "upload 1 0 \(body.count) 0 \(version) \(downloaded.server) \(downloaded.server)", body)
    }

    /// Takes a download.
    /// - Returns: what it answers, to say how far it is.
    /// - Throws: ``Unexpected`` for cursors that realm-core refuses.
    public mutating func take(_ message: RealmMessage) throws -> [UInt8]? {
        let numbers = message.numbers
        guard numbers.count == 11 else { throw Unexpected(what: "\(message)") }
        var body = message.body[...]
        if numbers[8] == 1 {
            guard let inflated = ZlibStream.inflate(message.body, Int(numbers[9])) else {
                throw Unexpected(what: "a body that isn't compressed as it says")
            }
            body = inflated[...]
        }
        guard numbers[1] >= downloaded.server, numbers[2] >= downloaded.client, numbers[1] <= numbers[3],
            numbers[2] <= numbers[5], (acknowledged...version).contains(numbers[5]), numbers[1] >= numbers[6]
        else { throw Unexpected(what: "cursors \(numbers)") }
        var incoming: [HistoryWindow.Incoming] = [], last = downloaded.server
        while !body.isEmpty {
            var fields: [UInt64] = []
            while fields.count < 6 {
                let word = body.prefix { $0 != UInt8(ascii: " ") }
                fields.append(UInt64(String(decoding: word, as: UTF8.self)) ?? 0)
                body = body.dropFirst(word.count + 1)
            }
            guard fields[0] > last, fields[0] <= numbers[1], fields[3] > 0, fields[3] != file?.ident,
                fields[1] <= numbers[2]
            else { throw Unexpected(what: "changeset \(fields)") }
            last = fields[0]
            receivedBytes += Int(fields[5])
            incoming.append(
                .init(
                    base: fields[1],
                    changeset: MergedChangeset(
                        try Changeset(Array(body.prefix(Int(fields[5])))),
                        origin: ChangesetOrigin(timestamp: fields[2], fileIdent: fields[3]))))
            body = body.dropFirst(Int(fields[5]))
        }
        var window = HistoryWindow(own), transformer = Transformer()
        for changeset in try window.integrate(incoming, transformer: &transformer) {
            try objects.apply(try Changeset(changeset.changeset.encoded()))
        }
        own = try window.entries.filter { $0.version > numbers[2] }.map { entry in
            guard entry.changeset.isModified else { return entry }
            return .init(
                version: entry.version,
                changeset: MergedChangeset(
                    try Changeset(entry.changeset.changeset.encoded()), origin: entry.changeset.origin))
        }
        downloaded = (numbers[1], numbers[2])
        latest = (numbers[3], numbers[4])
        acknowledged = numbers[5]
        pending.removeAll { $0.clientVersion <= numbers[5] }
        // What it says about its progress counts for all up to there, so that it sends first what there is.
        guard pending.allSatisfy({ $0.clientVersion <= sent }) else { return nil }
        return RealmMessage.bytes("upload 1 0 0 0 \(version) \(downloaded.server) \(downloaded.server)")
    }
}

extension PartitionObjects {
    /// Whether the objects are the same. The order of fields is the same for all.
    public func isSame(as other: PartitionObjects) -> Bool {
        objects.count == other.objects.count
            && objects.allSatisfy { key, object in other.objects[key].map { object.isIdentical(to: $0) } ?? false }
    }
}

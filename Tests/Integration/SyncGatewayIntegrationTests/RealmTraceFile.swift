import DocumentModel
import RealmMessages
import RealmSync

/// The file of a replayed client: which number the server gave it, what it has, and which of the server's versions stand for those of the
/// trace.
///
/// The client never has anything of its own that a download could conflict with: no object is edited by two at the same time. So it
/// applies downloads as they come.
final class RealmTraceFile {
    /// What the client says about the history when it binds a session again.
    struct Cursor {
        var server: UInt64 = 0
        var latest: UInt64 = 0
        var salt: UInt64 = 0
    }

    let ident: UInt64
    let salt: UInt64
    private(set) var objects = PartitionObjects()
    private(set) var downloaded: (server: UInt64, client: UInt64) = (0, 0)
    private(set) var latest: UInt64 = 0
    private(set) var acknowledged: UInt64 = 0
    /// The client's versions up to which it has sent what there is, each with the server's version that it had then.
    private(set) var progress: [UInt64: UInt64] = [:]
    /// The newest of its changesets that it has sent.
    private(set) var uploaded: UInt64 = 0
    /// What must be acknowledged.
    private(set) var acknowledgementDue: UInt64 = 0
    /// The changesets of other clients that have come and weren't compared.
    var foreign: [TracedChangeset] = []
    /// The versions at which refused writes are undone, which haven't come.
    private var undoings: Set<UInt64> = []

    /// The trace's version up to which the client has the history.
    private var recorded: UInt64 = 0
    /// For each version of the trace, the server's when the client had what it stands for, first and last. The server's versions are
    /// others: its history begins with the classes, and what it adds to the clients' objects counts, too.
    private var versions: [UInt64: (first: UInt64, last: Cursor)] = [0: (0, Cursor())]
    /// What the client has now, which may be more than the trace's version stands for.
    private var current = Cursor()

    init(ident: UInt64, salt: UInt64) {
        self.ident = ident
        self.salt = salt
    }

    // MARK: Versions

    /// The client has what the trace's version stands for.
    func reach(_ version: UInt64) {
        recorded = version
        versions[version] = (versions[version]?.first ?? current.server, current)
    }

    /// The server's version that stands for one of the trace.
    func cursor(at version: UInt64) throws -> Cursor {
        if version == recorded { return current }
        guard let known = versions[version] else { throw RealmTraceMismatch("no version stands for \(version)") }
        return known.last
    }

    /// The server's version on which a change was based that was based on the trace's.
    ///
    /// The client has committed it when it had just received that version, unless it has already told the server that it is further.
    private func base(_ version: UInt64) throws -> UInt64 {
        guard let known = versions[version] else { throw RealmTraceMismatch("no version stands for \(version)") }
        return max(known.first, progress.values.max() ?? 0)
    }

    // MARK: What the client sends

    /// Notes an upload, applies what is new of it, and maps its versions.
    func upload(_ message: RealmMessage, _ changesets: [TracedChangeset]) throws -> [UInt8] {
        let numbers = message.numbers
        try demand(numbers.count == 7, "\(message.line) isn't an upload")
        var body: [UInt8] = []
        for changeset in changesets {
            if changeset.clientVersion > uploaded {
                uploaded = changeset.clientVersion
                try objects.apply(try changeset.decoded())
            }
            let line = [
                changeset.clientVersion, try base(changeset.serverVersion), changeset.time, changeset.origin,
                UInt64(changeset.bytes.count),
            ]
            for number in line { body += "\(number) ".utf8 }
            body += changeset.bytes
        }
        let server = try cursor(at: numbers[5]).server, locked = try cursor(at: numbers[6]).server
        progress[numbers[4]] = max(server, progress[numbers[4]] ?? 0)
        // What has no new changesets isn't acknowledged.
        if let last = changesets.last, last.clientVersion > acknowledgementDue { acknowledgementDue = numbers[4] }
        let size = body.count
        if numbers[1] == 1 { body = ZlibStream.deflate(body) ?? [] }
        return RealmMessage.bytes(
            "upload \(numbers[0]) \(numbers[1]) \(size) \(numbers[1] == 1 ? body.count : 0) \(numbers[4]) \(server) \(locked)",
            body)
    }

    /// The client's `IDENT` with what the server has chosen. A file that has nothing says so with zeros.
    func identification(_ message: RealmMessage) throws -> [UInt8] {
        let numbers = message.numbers
        try demand(numbers.count == 7 && numbers[5] == numbers[3], "\(message.line) isn't an IDENT of the trace")
        var cursor = Cursor()
        if numbers[3] > 0 { cursor = try self.cursor(at: numbers[3]) }
        return RealmMessage.bytes(
            "ident \(numbers[0]) \(ident) \(salt) \(cursor.server) \(numbers[4]) \(cursor.latest) \(cursor.salt)")
    }

    // MARK: What the server sends

    /// A refused write is undone in a version that comes after the error.
    func expectUndoing(at version: UInt64) throws {
        try demand(
            version > downloaded.server,
            "an error says that version \(version) undoes the write, but the client is at \(downloaded.server)")
        undoings.insert(version)
    }

    /// Whether everything has come that undoes refused writes.
    var isUndone: Bool { undoings.isEmpty }

    /// Applies a download, whose cursors have to be as the client demands.
    func take(_ message: RealmMessage) throws {
        let changesets = try RealmMessage.downloaded(try message.downloadedBytes()), numbers = message.numbers
        let (server, client) = (numbers[1], numbers[2])
        try demand(
            server >= downloaded.server && client >= downloaded.client && numbers[3] >= latest
                && numbers[5] >= acknowledged,
            "\(message.line): a cursor goes back behind \(downloaded), \(latest), \(acknowledged)")
        try demand(
            server <= numbers[3] && client <= numbers[5] && server >= numbers[6] && numbers[4] > 0,
            "\(message.line): the cursors contradict each other")
        try demand(
            numbers[5] == 0 && numbers[6] == 0 || progress[numbers[5]] == numbers[6],
            "\(message.line) acknowledges version \(numbers[5]) at \(numbers[6]), but the client has sent \(progress)")
        var last = (server: downloaded.server, client: downloaded.client)
        for changeset in changesets {
            try demand(
                changeset.serverVersion > last.server && changeset.serverVersion <= server
                    && changeset.clientVersion >= last.client && changeset.clientVersion <= client,
                "\(message.line): changeset \(changeset.serverVersion) \(changeset.clientVersion) after \(last)")
            try demand(
                changeset.origin > 0 && changeset.origin != ident,
                "\(message.line): a changeset of client file \(changeset.origin)")
            last = (changeset.serverVersion, changeset.clientVersion)
            try objects.apply(try changeset.decoded())
            if changeset.origin > 1 { foreign.append(changeset) } else { undoings.remove(changeset.serverVersion) }
        }
        try demand(
            undoings.allSatisfy { $0 > server }, "\(message.line) has no changeset at \(undoings), which undoes a write"
        )
        downloaded = (server, client)
        latest = numbers[3]
        acknowledged = numbers[5]
        current = Cursor(server: server, latest: latest, salt: numbers[4])
    }
}

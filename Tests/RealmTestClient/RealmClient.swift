public import DocumentModel
public import EventLoop
public import RealmMessages
public import RealmSync

/// A client with a Realm SDK by hand: one session of the Realm sync protocol, with objects that it merges as realm-core does.
///
/// Written from the protocol's description. One caller at a time.
public final class RealmClient: @unchecked Sendable {
    public struct Unexpected: Error {
        public let what: String

        public init(what: String) { self.what = what }
    }

    public private(set) var objects = PartitionObjects()
    public private(set) var file: (ident: UInt64, salt: UInt64)?
    public private(set) var errors: [RealmMessage] = []
    /// The answers to `MARK` that weren't waited for.
    public private(set) var marks: [UInt64] = []
    /// What it has committed and isn't acknowledged.
    public private(set) var pending: [UploadedChangeset] = []
    private var own: [HistoryWindow.Entry] = []
    private var version: UInt64 = 3
    public private(set) var downloaded: (server: UInt64, client: UInt64) = (0, 0)
    /// The bytes of the changesets that it was sent.
    public private(set) var receivedBytes = 0
    private var latest: (version: UInt64, salt: UInt64) = (0, 0)
    private var sent: UInt64 = 0
    private var request: UInt64 = 0
    /// The clock that says when a change was made.
    private var clock: UInt64 = 350_000_000_000

    private var socket: RealmSocket?
    private let partition: Partition
    private let app: String
    private let loop: EventLoop
    private let token: @Sendable () throws -> String
    /// The gateway to which it connects next.
    public var port: Int

    /// - Parameters:
    ///   - port: The gateway's.
    ///   - token: The user's access token, for each connection.
    public init(
        in partition: Partition, of app: String, port: Int, on loop: EventLoop,
        token: @escaping @Sendable () throws -> String
    ) {
        self.app = app
        self.port = port
        self.loop = loop
        self.token = token
        self.partition = partition
    }

    /// How long an answer may take.
    public static let patience = Duration.seconds(30)

    // MARK: The connection

    /// Connects, begins the session, and has everything that there is then.
    public func open() async throws {
        try await connect()
        try await begin()
        try await catchUp()
    }

    public func connect(token: String? = nil, protocols: String = "com.mongodb.realm-sync#14") async throws {
        socket = try await RealmSocket(
            port: port, app: app, token: try token ?? self.token(), offering: [protocols], on: loop)
    }

    /// Loses the connection.
    public func cut() { socket?.cut() }

    /// Begins the session with `BIND` and `IDENT`.
    public func begin() async throws {
        send(RealmMessage.bind(partition, needsIdent: file == nil))
        if file == nil {
            let message = try await next()
            guard message.name == "ident" else { throw Unexpected(what: "\(message)") }
            file = (message.numbers[1], message.numbers[2])
        }
        guard let file else { return }
        send(RealmMessage.ident(file, downloaded: downloaded, latest: latest))
        sent = 0
    }

    public func send(_ line: String, _ body: [UInt8] = []) { send(RealmMessage.bytes(line, body)) }

    private func send(_ bytes: [UInt8]) { socket?.send(bytes) }

    public func next() async throws -> RealmMessage {
        switch await socket?.next(within: Self.patience) {
        case .message(let message): return message
        case let other:
            throw Unexpected(what: "\(String(describing: other)) after the errors \(errors.map(\.json))")
        }
    }

    public func forgetMarks() { marks = [] }

    // MARK: Changes

    /// Commits a change of objects, as a transaction of the app does.
    public func write(_ changes: (key: ObjectKey, object: Document?)...) throws {
        try commit(
            objects.change(
                try changes.map { key, object in
                    guard var document = object else { return (key, nil) }
                    document["_id"] = key.id.value
                    return try objects.schema.object(of: document, table: key.table)
                }))
    }

    /// Commits a changeset that is applied already.
    public func commit(_ changeset: RealmSync.Changeset) throws {
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
                    try RealmSync.Changeset(upload.bytes),
                    origin: ChangesetOrigin(timestamp: clock, fileIdent: file?.ident ?? 0))))
    }

    /// Applies and commits a changeset.
    public func apply(_ changeset: RealmSync.Changeset) throws {
        try objects.apply(changeset)
        try commit(changeset)
    }

    /// Sets the clock forward, so that its changes are later than those of others.
    public func advanceClock(by milliseconds: UInt64) { clock += milliseconds }

    /// Sets the clock to when the next change is made.
    public func setClock(to milliseconds: UInt64) { clock = milliseconds - 1 }

    /// Sends what isn't acknowledged.
    public func sendPending() {
        var body: [UInt8] = []
        for upload in pending where upload.clientVersion > sent {
            body +=
                "\(upload.clientVersion) \(upload.serverVersion) \(upload.originTimestamp) 0 \(upload.bytes.count) "
                .utf8
            body += upload.bytes
            sent = upload.clientVersion
        }
        send("upload 1 0 \(body.count) 0 \(version) \(downloaded.server) \(downloaded.server)", body)
    }

    /// Sends what isn't acknowledged, and waits until it is.
    public func upload() async throws {
        sendPending()
        while !pending.isEmpty { try take(try await next()) }
    }

    /// Waits until it has everything that the server has now.
    public func catchUp() async throws {
        request += 1
        send(RealmMessage.mark(request))
        while true {
            let message = try await next()
            if message.name == "mark", message.numbers == [1, request] { return }
            try take(message)
        }
    }

    /// Takes the next message.
    public func receive() async throws { try take(try await next()) }

    /// Takes downloads and errors until something holds.
    public func receive(until isDone: (RealmClient) -> Bool) async throws {
        while !isDone(self) { try take(try await next()) }
    }

    private func take(_ message: RealmMessage) throws {
        switch message.name {
        case "download": try takeDownload(message)
        case "json_error": errors.append(message)
        case "mark": marks.append(message.numbers[1])
        case "pong": break
        default: throw Unexpected(what: "\(message)")
        }
    }

    private func takeDownload(_ message: RealmMessage) throws {
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
            numbers[2] <= numbers[5], numbers[5] <= version, numbers[1] >= numbers[6]
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
                        try RealmSync.Changeset(Array(body.prefix(Int(fields[5])))),
                        origin: ChangesetOrigin(timestamp: fields[2], fileIdent: fields[3]))))
            body = body.dropFirst(Int(fields[5]))
        }
        var window = HistoryWindow(own), transformer = Transformer()
        for changeset in try window.integrate(incoming, transformer: &transformer) {
            try objects.apply(try RealmSync.Changeset(changeset.changeset.encoded()))
        }
        own = try window.entries.filter { $0.version > numbers[2] }.map { entry in
            guard entry.changeset.isModified else { return entry }
            return .init(
                version: entry.version,
                changeset: MergedChangeset(
                    try RealmSync.Changeset(entry.changeset.changeset.encoded()), origin: entry.changeset.origin))
        }
        downloaded = (numbers[1], numbers[2])
        latest = (numbers[3], numbers[4])
        pending.removeAll { $0.clientVersion <= numbers[5] }
        // What it says about its progress counts for all up to there, so that it sends first what there is.
        guard pending.allSatisfy({ $0.clientVersion <= sent }) else { return }
        send("upload 1 0 0 0 \(version) \(downloaded.server) \(downloaded.server)")
    }
}

extension PartitionObjects {
    /// Whether the objects are the same. The order of fields is the same for all.
    public func isSame(as other: PartitionObjects) -> Bool {
        objects.count == other.objects.count
            && objects.allSatisfy { key, object in other.objects[key].map { object.isIdentical(to: $0) } ?? false }
    }
}

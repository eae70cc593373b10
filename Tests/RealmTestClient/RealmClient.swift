public import DocumentModel
public import EventLoop
public import RealmClientModel
public import RealmMessages
public import RealmSync
public import WebSocket

/// A client with a Realm SDK by hand: one session of the Realm sync protocol, with objects that it merges as realm-core does.
///
/// Written from the protocol's description. One caller at a time.
@dynamicMemberLookup public final class RealmClient: @unchecked Sendable {
    public typealias Unexpected = RealmClientModel.Unexpected

    /// What it has.
    public private(set) var model = RealmClientModel()
    public private(set) var errors: [RealmMessage] = []
    /// The answers to `MARK` that weren't waited for.
    public private(set) var marks: [UInt64] = []
    private var request: UInt64 = 0

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

    /// Closes the connection as WebSockets do.
    public func close() { socket?.close() }

    /// Reads nothing from now on.
    public func pauseReading() { socket?.pauseReading() }

    /// Reads again as soon as the gateway has taken all but so much of what was sent.
    public func resumeReading(whenQueued bytes: Int) { socket?.resumeReading(whenQueued: bytes) }

    /// How the connection ends. What comes before is dropped.
    public func end() async throws -> WebSocketClosure {
        while true {
            switch await socket?.next(within: Self.patience) {
            case .message: continue
            case .end(let closure): return closure
            case .timeout, nil: throw Unexpected(what: "the connection doesn't end")
            }
        }
    }

    /// Begins the session with `BIND` and `IDENT`.
    public func begin() async throws {
        send(RealmMessage.bind(partition, needsIdent: model.file == nil))
        if model.file == nil {
            let message = try await next()
            guard message.name == "ident" else { throw Unexpected(what: "\(message)") }
            model.file = (message.numbers[1], message.numbers[2])
        }
        send(model.ident())
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
    public func write(_ changes: (key: ObjectKey, object: Document?)...) throws { try model.write(changes) }

    /// Commits a changeset that is applied already.
    public func commit(_ changeset: Changeset) throws { try model.commit(changeset) }

    /// Applies and commits a changeset.
    public func apply(_ changeset: Changeset) throws { try model.apply(changeset) }

    /// Does something to what it has.
    public func edit<R>(_ body: (inout RealmClientModel) throws -> R) rethrows -> R { try body(&model) }

    /// Sets the clock forward, so that its changes are later than those of others.
    public func advanceClock(by milliseconds: UInt64) { model.advanceClock(by: milliseconds) }

    /// Sets the clock to when the next change is made.
    public func setClock(to milliseconds: UInt64) { model.setClock(to: milliseconds) }

    public subscript<T>(dynamicMember member: KeyPath<RealmClientModel, T>) -> T { model[keyPath: member] }

    /// Sends what isn't acknowledged.
    public func sendPending() { send(model.upload()) }

    /// Sends what isn't acknowledged, and waits until it is.
    public func upload() async throws {
        sendPending()
        while !model.pending.isEmpty { try take(try await next()) }
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
        case "download": if let answer = try model.take(message) { send(answer) }
        case "json_error": errors.append(message)
        case "mark": marks.append(message.numbers[1])
        case "pong": break
        default: throw Unexpected(what: "\(message)")
        }
    }
}

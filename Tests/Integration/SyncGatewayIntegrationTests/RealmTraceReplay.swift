import DocumentModel
import RealmMessages
import RealmSync
import RealmTestClient
import SyncEngine
import Vectors
import WebSocket

/// Plays the client of a trace against the gateway: sends what it has sent, and demands the answers that it got.
///
/// The client's messages are sent as they are but for what the server chose: the number and the secret of the file, and the versions of
/// the history. The server's answers have to be those of the trace but for these, the texts of errors, and downloads without changesets,
/// of which there may be more or fewer; and what a download brings may come in several, or with what comes later.
final class RealmTraceReplay {
    static let user = "650000000000000000000abc"
    /// How long the token lives with which a connection begins that the server has to close because of it, in seconds.
    private static let shortLife: Int64 = 12

    let trace: RealmTrace
    private let fixture: GatewayFixture
    private let app: String
    /// The partitions by their text in `BIND`.
    private(set) var worlds: [[UInt8]: RealmTraceWorld] = [:]
    private var socket: RealmSocket?
    private var sessions: [UInt64: RealmTraceSession] = [:]
    /// The files by their partition and their number in the trace.
    private var files: [FileName: RealmTraceFile] = [:]
    /// The downloads whose changesets the server or another client has made already.
    private var performed: Set<Int> = []

    private struct FileName: Hashable {
        let path: [UInt8]
        let number: UInt64
    }

    init(_ trace: RealmTrace, app: String, of fixture: GatewayFixture) throws {
        self.trace = trace
        self.app = app
        self.fixture = fixture
        for case .sent(let line, let body) in trace.events where line.hasPrefix("bind ") && worlds[body] == nil {
            guard let partition = Partition(value: try ExtendedJSON.parse(body)) else {
                throw RealmTraceMismatch("no partition in \(line)")
            }
            worlds[body] = RealmTraceWorld(partition, user: Self.user, app: app, of: fixture)
        }
    }

    /// Plays the trace to its end.
    func run() async throws {
        defer {
            socket?.close()
            for world in worlds.values { world.close() }
        }
        for world in worlds.values { if isDenied { try await world.listen() } else { try await world.grant(.write) } }
        if trace.scenario == "async-open" { try await performServer(from: 0) }
        for (index, event) in trace.events.enumerated() {
            do {
                try await play(event, index)
            } catch {
                throw RealmTraceMismatch("\(trace.scenario), event \(index), \(Self.name(event)): \(error)")
            }
        }
        try await checkSilence()
        if isDenied { return }
        for world in worlds.values { try await world.checkNewClient() }
    }

    private var isDenied: Bool { trace.scenario == "permission-denied" }

    private static func name(_ event: RealmTrace.Event) -> String {
        switch event {
        case .sent(let line, _): "client: \(line)"
        case .received(let line, _): "server: \(line)"
        case .upgrade, .close, .note: "\(event)"
        }
    }

    private func play(_ event: RealmTrace.Event, _ index: Int) async throws {
        switch event {
        case .upgrade(let offered, let status, let chosen):
            try await upgrade(offering: offered, status: status, chosen: chosen, index)
        case .sent(let line, let body): try await send(RealmMessage(line: line, body: body), index)
        case .received(let line, let body): try await expect(RealmMessage(line: line, body: body), index)
        case .close(let code): try await expectClosure(code)
        case .note(let text): try await follow(text, index)
        }
    }

    // MARK: The connection

    private func upgrade(offering offered: [String], status: Int, chosen: String?, _ index: Int) async throws {
        sessions = [:]
        socket?.cut()
        socket = nil
        let lifetime = status == 401 ? -60 : isClosed(after: index) ? Self.shortLife : 600
        let token = try fixture.token(Self.user, app: app, lifetime: lifetime)
        do {
            let socket = try await RealmSocket(
                port: fixture.port, app: app, token: token, offering: offered,
                on: GatewayFixture.loops.next())
            self.socket = socket
            try demand(status == 101, "the upgrade wasn't refused")
            try demand(socket.subprotocol == chosen, "the server has chosen \(socket.subprotocol ?? "none")")
        } catch let error as WebSocketError {
            try demand(error.status == status, "\(error)")
        }
    }

    /// Whether the server closes the connection that is opened now.
    private func isClosed(after index: Int) -> Bool {
        for event in trace.events[(index + 1)...] {
            if case .upgrade = event { return false }
            if case .close = event { return true }
        }
        return false
    }

    private func expectClosure(_ code: Int) async throws {
        while true {
            switch try await arrival(within: .seconds(Self.shortLife) + Device.patience) {
            case .message(let message): try take(message)
            case .end(let closure):
                return try demand(Int(closure.code.rawValue) == code, "closed with \(closure.code)")
            case .timeout: throw RealmTraceMismatch("the connection isn't closed")
            }
        }
    }

    private func arrival(within time: Duration) async throws -> RealmSocket.Arrival {
        guard let socket else { throw RealmTraceMismatch("there is no connection") }
        return await socket.next(within: time)
    }

    /// Takes the next message.
    func receive(_ what: @autoclosure () -> String) async throws {
        switch try await arrival(within: Device.patience) {
        case .message(let message): try take(message)
        case .end(let closure): throw RealmTraceMismatch("closed with \(closure.code) instead of \(what())")
        case .timeout: throw RealmTraceMismatch("the server doesn't send \(what())")
        }
    }

    private func take(_ message: RealmMessage) throws {
        guard let session = sessions[message.session] else {
            throw RealmTraceMismatch("\(message.line) in a session that isn't bound")
        }
        try session.take(message)
    }

    /// The server sends nothing more, but for downloads without changesets.
    private func checkSilence() async throws {
        socket?.send(RealmMessage.bytes("ping 1 0"))
        while true {
            guard case .message(let message) = try await arrival(within: Device.patience) else {
                throw RealmTraceMismatch("no answer to PING at the end")
            }
            if message.name == "pong" { return try demand(message.numbers == [1], "\(message.line) to 1") }
            try demand(
                message.name == "download" && (try message.downloadedBytes().isEmpty), "\(message.line) at the end")
            try take(message)
        }
    }

    // MARK: What the client sends

    func session(_ number: UInt64) throws -> RealmTraceSession {
        guard let session = sessions[number] else { throw RealmTraceMismatch("session \(number) isn't bound") }
        return session
    }

    private func path(of world: RealmTraceWorld) -> [UInt8] { worlds.first { $0.value === world }?.key ?? [] }

    private func send(_ message: RealmMessage, _ index: Int) async throws {
        if message.name != "mark", let session = sessions[message.session] {
            while !session.deferred.isEmpty { try await complete(session.deferred[0], in: session, index) }
        }
        switch message.name {
        case "bind":
            guard let world = worlds[message.body] else { throw RealmTraceMismatch("an unknown partition") }
            try demand(sessions[message.session] == nil, "the session is bound already")
            sessions[message.session] = RealmTraceSession(message.session, in: world)
            socket?.send(RealmMessage.bytes(message.line, message.body))
            if isDenied { try await world.deny() }
        case "ident": try sendIdent(message)
        case "upload": try sendUpload(message, index)
        case "mark":
            try session(message.session).sendMark(message.numbers[1])
            socket?.send(RealmMessage.bytes(message.line))
        case "unbind": socket?.send(RealmMessage.bytes(message.line))
        default: throw RealmTraceMismatch("the client sends \(message.line)")
        }
    }

    private func sendIdent(_ message: RealmMessage) throws {
        let session = try session(message.session), world = session.world
        let name = FileName(path: path(of: world), number: message.numbers[1])
        if let ident = session.ident {
            files[name] = RealmTraceFile(ident: ident.numbers[1], salt: ident.numbers[2])
        }
        guard let file = files[name] else { throw RealmTraceMismatch("\(message.line) without a file") }
        session.file = file
        world.file = file
        socket?.send(try file.identification(message))
    }

    private func sendUpload(_ message: RealmMessage, _ index: Int) throws {
        let session = try session(message.session)
        guard let file = session.file else { throw RealmTraceMismatch("\(message.line) without a file") }
        // The bytes never come to the server.
        if note(after: index) == "server cuts the TCP connection without integrating this upload" { return }
        var changesets = try RealmMessage.uploaded(message.body)
        for index in changesets.indices {
            changesets[index].bytes = session.world.bytes(changesets[index].bytes)
            guard changesets[index].clientVersion > file.uploaded else { continue }
            try session.world.upload(changesets[index], from: file.ident)
        }
        socket?.send(try file.upload(message, changesets))
    }

    private func note(after index: Int) -> String? {
        guard index + 1 < trace.events.count, case .note(let text) = trace.events[index + 1] else { return nil }
        return text
    }

    // MARK: What the trace's server does by itself

    private func follow(_ note: String, _ index: Int) async throws {
        switch note {
        case "step: server-change-and-drop", "step: server-both", "step: server-add", "step: srv1", "step: srv2":
            try await performServer(from: index + 1)
        case "step: comp-on": for world in worlds.values { try await world.grant(.read) }
        case "step: comp-off": for world in worlds.values { try await world.grant(.write) }
        case "server forgets all client file idents of this partition":
            for world in worlds.values { try await world.forgetFiles() }
        case "server cuts the TCP connection without integrating this upload": socket?.cut()
        case "server has integrated this upload but cuts the connection before the acknowledging DOWNLOAD":
            guard case .sent(let line, let body) = trace.events[index - 1] else {
                throw RealmTraceMismatch("no upload before it")
            }
            let world = try session(RealmMessage(line: line, body: body).session).world
            for changeset in try RealmMessage.uploaded(body) { try await world.waitUntilStored(changeset.decoded()) }
            socket?.cut()
        default: break
        }
    }

    /// Does what the downloads up to the next step of the driver tell the client.
    private func performServer(from first: Int) async throws {
        var paths: [UInt64: [UInt8]] = [:]
        for (index, event) in trace.events.enumerated() {
            switch event {
            case .sent(let line, let body) where line.hasPrefix("bind "):
                paths[RealmMessage(line: line, body: body).session] = body
            case .received(let line, let body) where index >= first && line.hasPrefix("download "):
                guard let world = paths[RealmMessage(line: line, body: body).session].flatMap({ worlds[$0] }) else {
                    throw RealmTraceMismatch("\(line) in no session")
                }
                for changeset in try RealmMessage.downloaded(body) { try await world.perform(changeset) }
                performed.insert(index)
            case .note(let text) where index >= first && text.hasPrefix("step: ") && text != "step: dropped": return
            default: break
            }
        }
    }

    /// Whether the changesets of a download have been made by ``performServer(from:)``.
    func isPerformed(_ index: Int) -> Bool { performed.contains(index) }

    /// Whether the client's next message is a `MARK` of a session.
    func isMark(_ index: Int, in session: UInt64) -> Bool {
        guard index < trace.events.count, case .sent(let line, _) = trace.events[index] else { return false }
        return line.hasPrefix("mark \(session) ")
    }
}

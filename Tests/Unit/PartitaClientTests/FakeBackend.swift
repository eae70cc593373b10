import DocumentModel
import Foundation
import MemoryStore
import PartitaClient
import SyncEngine
import SyncProtocol

/// A backend in memory behind the client's two transports: accounts, partitions, and a gateway that speaks the real frames.
actor FakeBackend: HTTPTransport, SyncTransport {
    private var store = MemoryStore(
        storage: AppStorage(
            app: "chat", syncDatabase: "chat", partitionKey: "room", syncedCollections: ["Message"]
        ) { _, document in
            document["forbidden"] == nil ? nil : .init(reason: "forbidden", path: "forbidden")
        })
    private(set) var calls: [String] = []
    private(set) var refreshes = 0
    private(set) var hellos: [DeviceFrame.Hello] = []
    private var connections: [Int: FakeConnection] = [:]
    private var devices: [Int: String] = [:]
    /// The connections of devices that read compact downloads.
    private var compact: Set<Int> = []
    private var subscriptions: [Int: [Partition: SubscriptionStateMachine<Download>]] = [:]
    private var forbidden: Set<Partition> = []
    /// What was found when a device that asked for it opened a partition last.
    private(set) var comparisons: [Partition: Holdings.Comparison] = [:]
    private var nextConnection = 0
    /// The users that a device watches, as one said last.
    private(set) var watched: [String] = []

    /// Whether answers to uploads get lost.
    private var losesAnswers = false
    /// The `_id` of a document whose upload ends the connection after a time, as if the gateway died of it; and how often that happened.
    private var fatal: Value?
    private var agony = Duration.zero
    private(set) var deaths = 0
    /// The sessions by number: the refresh token that is valid, and the one that was given for it and takes its place when it is used.
    private var sessions: [Int: (current: String, next: String?)] = [:]
    private var lastSession = 0
    /// Called before a refresh is answered.
    private var atRefresh: @Sendable () async throws -> Void = {}
    /// Whether connections are refused.
    private var isDown = false
    /// Whether the sessions have ended.
    private var hasEndedSessions = false
    /// How long access tokens are valid, in seconds.
    private var tokenLife: Int64 = 1800

    /// Called while a session is being ended.
    private var atLogOut: @Sendable () -> Void = {}

    /// The largest frame.
    private var frameBytes = 16 << 20

    /// How many partitions a connection may have open.
    private var most = 100

    func set(most: Int) { self.most = most }
    func set(frameBytes: Int) { self.frameBytes = frameBytes }
    func set(atLogOut: @escaping @Sendable () -> Void) { self.atLogOut = atLogOut }
    func set(atRefresh: @escaping @Sendable () async throws -> Void) { self.atRefresh = atRefresh }
    func set(losesAnswers: Bool) { self.losesAnswers = losesAnswers }
    func set(fatal: Value?, after agony: Duration = .zero) {
        self.fatal = fatal
        self.agony = agony
    }
    func set(tokenLife: Int64) { self.tokenLife = tokenLife }
    func set(hasEndedSessions: Bool) { self.hasEndedSessions = hasEndedSessions }

    func set(isDown: Bool) {
        self.isDown = isDown
        if isDown { dropConnections() }
    }

    // MARK: HTTP

    func send(_ call: HTTPCall) async throws -> HTTPAnswer {
        if isDown { throw PartitaError(code: .unreachable, message: "down") }
        let path = call.url.replacing("http://backend/api/client/v2.0", with: "")
        calls.append("\(call.method) \(path)")
        switch (call.method, path) {
        case ("POST", "/app/chat/auth/providers/local-userpass/register"): return HTTPAnswer(status: 201)
        case ("POST", "/app/chat/auth/providers/local-userpass/login"):
            let body = try ExtendedJSON.parseDocument(call.body)
            if body["password"] != "secret" {
                let error = #"{"error":"invalid username/password","error_code":"InvalidPassword"}"#
                return HTTPAnswer(status: 401, body: Array(error.utf8))
            }
            lastSession += 1
            let refresh = "\(lastSession)/0"
            sessions[lastSession] = (refresh, nil)
            let answer: Document = [
                "access_token": .string(token()), "refresh_token": .string(refresh), "user_id": body["username"] ?? "",
            ]
            return HTTPAnswer(status: 200, body: Array(ExtendedJSON.print(answer).utf8))
        case ("POST", "/auth/session"):
            try await atRefresh()
            guard !hasEndedSessions, let next = exchange(shown(call)) else {
                return HTTPAnswer(status: 401, body: Array(#"{"error_code":"InvalidSession"}"#.utf8))
            }
            refreshes += 1
            let answer: Document = ["access_token": .string(token()), "refresh_token": .string(next)]
            return HTTPAnswer(status: 201, body: Array(ExtendedJSON.print(answer).utf8))
        case ("DELETE", "/auth/session"):
            sessions = sessions.filter { ![$0.value.current, $0.value.next].contains(shown(call)) }
            atLogOut()
            return HTTPAnswer(status: 204)
        case ("POST", "/app/chat/functions/call"): return HTTPAnswer(status: 200, body: Array("[1,2]".utf8))
        default: return HTTPAnswer(status: 404)
        }
    }

    private func shown(_ call: HTTPCall) -> String? {
        call.headers.first { $0.name == "Authorization" }.map { $0.value.replacing("Bearer ", with: "") }
    }

    /// As the service does: one that was superseded isn't valid any more.
    private func exchange(_ token: String?) -> String? {
        guard let token, let (number, session) = sessions.first(where: { token == $1.current || token == $1.next })
        else { return nil }
        let next = "\(number)/\(refreshes + 1)"
        sessions[number] = (token == session.next ? token : session.current, next)
        return next
    }

    private func token() -> String {
        let now = Int64(Date().timeIntervalSince1970)
        let text = #"{"exp":\#(now + tokenLife),"iat":\#(now),"n":\#(calls.count)}"#
        let claims = Data(text.utf8).base64EncodedString()
        return "e30.\(claims.replacing("=", with: "")).signature"
    }

    // MARK: Connections

    func connect(_ url: String, subprotocol: String) async throws -> any SyncConnection {
        if isDown { throw PartitaError(code: .unreachable, message: "down") }
        nextConnection += 1
        let number = nextConnection
        let connection = FakeConnection { [weak self] text in await self?.received(text, from: number) }
        connections[number] = connection
        return connection
    }

    /// Ends all connections with an error.
    func refuseAll(with code: SyncErrorCode) {
        for number in connections.keys { send(.error(.init(code: code, message: "refused")), to: number) }
    }

    func dropConnections() {
        for connection in connections.values { connection.close() }
        connections = [:]
        subscriptions = [:]
    }

    private func received(_ text: [UInt8], from number: Int) {
        guard connections[number] != nil else { return }
        do throws(SyncProtocolError) {
            try take(DeviceFrame(text), from: number)
        } catch {
            send(.error(.init(error)), to: number)
        }
    }

    private func take(_ frame: DeviceFrame, from number: Int) {
        switch frame {
        case .hello(let hello):
            hellos.append(hello)
            devices[number] = hello.device
            if hello.readsCompact { compact.insert(number) }
            let limits = GatewayFrame.Limits(
                ConnectionLimits(frameBytes: frameBytes, uploadWindow: 8, subscriptions: most))
            send(.welcome(.init(session: "\(number)", serverTime: 0, limits: limits)), to: number)
        case .subscribe(let partition, let checkpoint, let resume, let holds):
            if subscriptions[number, default: [:]].count >= most {
                let code = SyncErrorCode.tooManySubscriptions
                return send(.error(.init(code: code, message: "too many", partition: partition)), to: number)
            }
            comparisons[partition] = compare(holds, at: checkpoint, of: partition)
            let point = EpochHistory(current: store.epoch).resumePoint(
                for: comparisons[partition] == .different ? EpochHistory.beginning : checkpoint,
                resuming: resume.flatMap { ResumeToken($0) }, head: store[partition].head)
            var subscription = SubscriptionStateMachine<Download>(from: point, epoch: store.epoch, window: 1000)
            let actions = subscription.start()
            subscriptions[number, default: [:]][partition] = subscription
            perform(actions, partition, number)
        case .unsubscribe(let partition): subscriptions[number]?[partition] = nil
        case .upload(let upload): commit(upload, from: number)
        case .presence(let presence):
            watched = presence.watch ?? []
            for user in presence.watch ?? [] {
                send(.presence(.init(user: user, state: presence.state, lastSeen: 1)), to: number)
            }
        case .token, .ping: send(.pong, to: number)
        }
    }

    private func compare(
        _ holds: Holdings?, at checkpoint: Revision, of partition: Partition
    ) -> Holdings.Comparison? {
        guard let holds, checkpoint == store[partition].head else { return nil }
        return store[partition].holdings == holds ? .same : .different
    }

    private func die(_ number: Int) {
        deaths += 1
        connections[number]?.close()
        connections[number] = nil
        subscriptions[number] = nil
    }

    private func commit(_ upload: DeviceFrame.Upload, from number: Int) {
        for changeset in upload.changesets {
            if let fatal, changeset.operations.contains(where: { $0.id == fatal }) {
                if agony == .zero { return die(number) }
                Task {
                    try await Task.sleep(for: agony)
                    die(number)
                }
                return
            }
            let answer = write(changeset, device: devices[number] ?? "", in: upload.partition)
            if losesAnswers { continue }
            switch answer {
            case .acknowledged(let ack):
                send(
                    .ack(
                        .init(
                            partition: upload.partition, version: changeset.version, revision: ack.revision,
                            lost: ack.lost)),
                    to: number)
            case .rejected(let reason):
                send(
                    .rejected(.init(partition: upload.partition, version: changeset.version, reason: reason)),
                    to: number)
            case .forked: send(.forked(partition: upload.partition, version: changeset.version), to: number)
            case .outOfOrder, .undecided, nil:
                subscriptions[number]?[upload.partition] = nil
                send(.error(.init(code: .versionGap, message: "gap", partition: upload.partition)), to: number)
            }
        }
    }

    /// The documents of the partition that tests open first.
    var documents: [DocumentKey: StoredDocument] { store[ClientFixture.partition].documents }

    /// Commits a changeset, and gives it to all who have the partition open.
    @discardableResult
    func write(_ changeset: Changeset, device: String, in partition: Partition) -> UploadResult? {
        let upload = Upload(
            user: "ada", device: device, partition: partition, changeset: changeset, time: changeset.clock)
        let (results, all) = store.commit([upload])
        for changes in all {
            let download = Download(from: changes.before, to: changes.after, changes: changes.changes)
            let frame = LiveFrame(from: changes.before, to: changes.after, byteCount: 1, payload: download)
            for number in subscriptions.keys.sorted() {
                perform(
                    subscriptions[number]?[changes.partition]?.received(frame, queued: 0) ?? [], changes.partition,
                    number)
            }
        }
        return results[0]
    }

    // MARK: Permissions

    func forbid(_ partition: Partition) {
        forbidden.insert(partition)
        for number in subscriptions.keys {
            perform(subscriptions[number]?[partition]?.revoked(reason: "notPermitted") ?? [], partition, number)
        }
    }

    private func perform(
        _ actions: [SubscriptionStateMachine<Download>.Action], _ partition: Partition, _ number: Int
    ) {
        for action in actions {
            switch action {
            case .requestGrant:
                let access: Access = forbidden.contains(partition) ? .none : .write
                perform(subscriptions[number]?[partition]?.granted(access) ?? [], partition, number)
            case .attach: perform(subscriptions[number]?[partition]?.attached(queued: 0) ?? [], partition, number)
            case .readChunk(let after, _):
                let chunk = store.chunk(
                    of: partition, from: after, limit: 10, device: devices[number] ?? "", user: "ada")
                perform(subscriptions[number]?[partition]?.chunkRead(chunk, queued: 0) ?? [], partition, number)
            case .sendSubscribed(let access, let head, let lastVersion):
                send(
                    .subscribed(
                        .init(
                            partition: partition, access: access, head: head, lastVersion: lastVersion,
                            holds: comparisons[partition])),
                    to: number)
            case .sendAccess(let access): send(.access(partition: partition, access), to: number)
            case .sendChunk(let chunk, let progress, let resume):
                var download = chunk.payload
                download.catchUp = Download.CatchUp(
                    isFinal: chunk.isFinal, lastVersion: chunk.lastVersion, progress: progress, resume: resume?.text)
                send(.download(partition: partition, download), to: number)
            case .sendFrame(let download): send(.download(partition: partition, download), to: number)
            case .sendRevoked(let reason):
                subscriptions[number]?[partition] = nil
                send(.revoked(partition: partition, reason: reason), to: number)
            case .endSession: connections[number]?.close()
            case .sendUnavailable, .sendSuspended, .detach: break
            }
        }
    }

    private func send(_ frame: GatewayFrame, to number: Int) {
        connections[number]?.deliver(frame.encoded(isCompact: compact.contains(number)))
    }
}

/// A connection in memory; frames go through one queue in each direction.
final class FakeConnection: SyncConnection {
    private let up: AsyncStream<[UInt8]>.Continuation
    private let down: AsyncStream<[UInt8]>.Continuation
    private let incoming: AsyncStream<[UInt8]>
    private let pump: Task<Void, Never>

    init(_ received: @escaping @Sendable ([UInt8]) async -> Void) {
        let (outgoing, up) = AsyncStream.makeStream(of: [UInt8].self)
        (incoming, down) = AsyncStream.makeStream(of: [UInt8].self)
        self.up = up
        pump = Task { for await text in outgoing { await received(text) } }
    }

    func deliver(_ text: [UInt8]) { down.yield(text) }
    func send(_ text: [UInt8]) { up.yield(text) }
    func receive() async -> [UInt8]? { await incoming.first { _ in true } }

    func close() {
        up.finish()
        down.finish()
    }
}

import AccessTokens
import DocumentModel
import EventLoop
import Foundation
import Logging
import Presence
import RealmSync
import SyncEngine
import WebSocket

/// A connection of a client with the Realm SDKs, whose user the request has shown. It carries a session for each partition.
///
/// `@unchecked Sendable`: confined to the loop of its socket.
final class RealmConnection: GatewaySession, @unchecked Sendable {
    let context: GatewayContext
    let hub: RealmHub
    let shard: FeedShard
    let app: String
    let claims: TokenClaims
    let id = UUID().uuidString.lowercased()
    /// When it was opened.
    let opened = ContinuousClock.now
    /// Whether the socket's queue may hold data of a partition, which may not leave when the lease has ended.
    private var holdsData = false
    private let socket: WebSocket
    /// That of the protocol.
    let version: Int
    private var sessions: [UInt64: RealmSession] = [:]
    private var place: UserConnections.Place?
    private var isPresent = false
    private var throttle: FrameThrottle?
    /// How often the client has said that it can't go on.
    private var complaints = 0
    private var unanswered: UnansweredUploads
    private let reads: SocketReads
    private var tokenTimer: LoopTimer?
    private let drain: DrainWaiters
    private let onEnd: (RealmConnection) -> Void

    init(
        _ socket: WebSocket, version: Int, app: String, claims: TokenClaims, shard: FeedShard, hub: RealmHub,
        context: GatewayContext, onEnd: @escaping (RealmConnection) -> Void
    ) {
        self.socket = socket
        drain = DrainWaiters(socket)
        self.version = version
        self.app = app
        self.claims = claims
        self.shard = shard
        self.hub = hub
        self.context = context
        self.onEnd = onEnd
        unanswered = UnansweredUploads(budget: context.frames)
        reads = SocketReads(socket, window: context.downloads.window, budget: context.chunks)
    }

    var loop: EventLoop { socket.loop }
    var isOpen: Bool { socket.isOpen }

    // MARK: The beginning

    func start() {
        GatewayMetrics.connections.increment()
        socket.onClose = { [self] _ in ended() }
        place = context.connections.take(app: app, user: claims.user)
        guard place != nil else { return socket.close(.tryAgainLater, reason: "too many connections of the user") }
        let sender = Sender.number(app: app, user: claims.user)
        socket.onMessage = { [self] opcode, bytes in received(opcode, bytes) }
        let throttle = FrameThrottle(socket, budget: context.frameTime) { [self] in resumeReading() }
        throttle.sender = sender
        unanswered.sender = sender
        reads.receiver = sender
        self.throttle = throttle
        socket.onHandled = { throttle.charge($0) }
        socket.onDrain = { [self] in drained() }
        socket.mayFlush = { [self] in !holdsData || context.lease.isValid }
        socket.onQuiet = { [self] isQuiet in setPresent(!isQuiet) }
        socket.allow(messagesOf: FrameLimits().messageBytes, from: context.frames, of: sender)
        setPresent(true)
        let lifetime = claims.expiresAt * 1000 - context.wallTime
        let timer = LoopTimer(loop) { [self] in socket.close(Self.tokenExpired, reason: "the access token has expired")
        }
        timer.start(ms: UInt64(max(1, lifetime)))
        tokenTimer = timer
    }

    /// How many times as many sessions as allowed may be open and refused.
    private static let refusedSessions = 10
    private static let loggedComplaints = 10
    /// The client gets a new access token and connects again.
    private static let tokenExpired = WebSocketCloseCode(rawValue: 4001)
    /// The client signs the user out.
    private static let userDisabled = WebSocketCloseCode(rawValue: 4002)

    private func setPresent(_ isPresent: Bool, keepsLease: Bool = false) {
        guard isPresent != self.isPresent else { return }
        self.isPresent = isPresent
        let member = PresenceMember(app: app, user: claims.user, device: claims.device)
        if isPresent { context.presence.join(member) } else { context.presence.leave(member, keepsLease: keepsLease) }
    }

    // MARK: Messages

    private func received(_ opcode: WebSocketFrame.Opcode, _ bytes: UnsafeRawBufferPointer) {
        do {
            guard opcode == .binary else { throw FrameError(.badSyntax, at: 0, "messages are binary") }
            try handle(try ClientFrame(Array(bytes)))
        } catch let error as FrameError where error.isTooLarge {
            // The client resets, as with Atlas: it would send the same again for ever.
            socket.close(.messageTooBig, reason: error.message)
        } catch let error as FrameError {
            fail(error.code, error.message)
        } catch {
            fail(.otherError, "the message could not be handled")
        }
    }

    private func handle(_ frame: ClientFrame) throws(FrameError) {
        switch frame {
        case .bind(let bind):
            guard bind.session > 0, sessions[bind.session] == nil else {
                throw FrameError(.reuseOfSessionIdent, at: 0, "the session's number is in use")
            }
            let limit = context.limits.subscriptions
            guard sessions.count < Self.refusedSessions * limit else {
                throw FrameError(.otherError, at: 0, "the connection has too many sessions")
            }
            let isAllowed = sessions.values.count { !$0.isOver } < limit, session = RealmSession(bind, connection: self)
            sessions[bind.session] = session
            if isAllowed { session.start() } else { session.refuse("a connection has at most \(limit) sessions") }
        case .ident(let ident): try session(ident.session).identify(ident)
        case .upload(let upload): try session(upload.session).upload(upload)
        case .mark(let number, let request): try session(number).mark(request)
        case .unbind(let number):
            try session(number).unbind()
            sessions[number] = nil
        case .ping(let timestamp, _): send(.pong(timestamp: timestamp))
        case .error(let number, let code, let json):
            complaints += 1
            context.logger.log(
                level: complaints <= Self.loggedComplaints ? .notice : .debug, "a Realm client can't go on",
                metadata: [
                    "connection.id": "\(id)", "error.code": "\(code)",
                    "error": "\(String(decoding: json.prefix(1000), as: UTF8.self))",
                ])
            sessions[number]?.stop()
        }
    }

    private func session(_ number: UInt64) throws(FrameError) -> RealmSession {
        guard let session = sessions[number] else {
            throw FrameError(.badSessionIdent, at: 0, "the connection has no session \(number)")
        }
        return session
    }

    func send(_ frame: ServerFrame) {
        if let bytes = frame.encoded(version: version) { socket.send(WebSocketFrame(.binary, bytes)) }
    }

    func send(_ download: DownloadFrame, _ body: FrameBody) {
        holdsData = true
        socket.send(WebSocketFrame(.binary, download.encoded(body)))
        if socket.queuedBytes == 0 { holdsData = false }
    }

    /// An error of the connection, which ends it.
    func fail(_ code: RealmErrorCode, _ message: String) {
        context.logger.debug(
            "a Realm client is refused",
            metadata: ["connection.id": "\(id)", "error.code": "\(code.rawValue)", "error": "\(message)"])
        GatewayMetrics.refusals["realm-\(code.rawValue)"].increment()
        send(.error(session: 0, SessionError(code, message, action: .protocolViolation, triesAgain: false)))
        socket.close(.policyViolation, reason: "\(code.rawValue)")
    }

    // MARK: Flow

    /// Whether another download may be queued.
    var hasRoom: Bool { socket.queuedBytes <= context.downloads.window }

    /// Starts a read of the history for a session: at once, or when fewer are in flight and less is queued. The caller reports its
    /// end with ``readEnded()``.
    func read(_ partition: Partition, _ start: @escaping () -> Void) { reads.add(partition, start) }

    /// A read has ended, and what it found is queued.
    func readEnded() { reads.ended() }

    /// An upload waits to be integrated.
    /// - Returns: false if the gateway has too many in memory; then it doesn't wait.
    func takeUpload(_ bytes: Int) -> Bool {
        guard unanswered.add(bytes) else { return false }
        if unanswered.isFull { socket.pauseReading() }
        return true
    }

    func uploadEnded(_ bytes: Int) {
        unanswered.remove(bytes)
        resumeReading()
    }

    /// Integrating what the client has uploaded has taken this time.
    func charge(_ time: Duration) { throttle?.charge(time) }

    private func resumeReading() {
        if !unanswered.isFull, throttle?.isPaused != true { socket.resumeReading() }
    }

    private func drained() {
        holdsData = false
        reads.resume()
        drain.release()
        for session in sessions.values { session.wake() }
    }

    /// Calls back when everything that is queued has left, or the connection was reset.
    /// - Parameter isUrgent: Whether it is reset when that takes long.
    func whenDrained(isUrgent: Bool = true, _ body: @escaping () -> Void) { drain.wait(isUrgent: isUrgent, body) }

    // MARK: The gateway

    func leaseChanged() {
        if holdsData, !context.lease.isValid { return socket.terminate() }
        for session in sessions.values { session.rightsChanged() }
    }

    func shutOutChanged() {
        guard socket.isOpen else { return }
        switch context.access.shutOut.reason(claims) {
        case nil: break
        case .disabled, .deleted: socket.close(Self.userDisabled, reason: "the account is disabled or deleted")
        case .sessionEnded: socket.close(Self.tokenExpired, reason: "the session has ended")
        }
    }

    /// The SDKs connect again, and are refused then.
    func appRemoved(_ app: String) {
        if socket.isOpen, app.hasSameBytes(as: self.app) { shutDown() }
    }

    func shutDown() { socket.close(.serviceRestart, reason: "unavailable") }

    /// The client has another connection.
    func drop() { socket.terminate() }

    private func ended() {
        GatewayMetrics.connections.decrement()
        tokenTimer?.close()
        tokenTimer = nil
        for session in sessions.values { session.stop() }
        sessions = [:]
        reads.close()
        throttle?.close()
        throttle = nil
        setPresent(false, keepsLease: socket.ownCloseCode == .serviceRestart)
        if let place { context.connections.release(place) }
        place = nil
        onEnd(self)
        // The callbacks retain this connection.
        socket.onMessage = nil
        socket.onHandled = nil
        // Not `onDrain`: the close frame, and the frame before it that has been sent in part, may still leave; a revocation waits for that.
        socket.onQuiet = nil
        socket.onClose = nil
    }
}

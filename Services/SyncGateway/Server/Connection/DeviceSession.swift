import AccessTokens
import DocumentModel
import EventLoop
import Foundation
import Lifecycle
import Logging
import Presence
import SyncEngine
import SyncProtocol
import WebSocket

/// One device's connection: parses its frames, enforces the rules of the connection (`ConnectionStateMachine`), and has a
/// subscription for each open partition.
///
/// `@unchecked Sendable`: confined to the loop of its socket. Asynchronous work runs in tasks that prefer that loop.
final class DeviceSession: GatewaySession, @unchecked Sendable {
    let context: GatewayContext
    let shard: FeedShard
    let app: String
    let id = UUID().uuidString.lowercased()
    private let socket: WebSocket
    private var machine: ConnectionStateMachine
    private var subscriptions: [Partition: PartitionSubscription] = [:]
    private var timer: LoopTimer?
    private(set) var claims: TokenClaims?
    /// The version of the app's schema that the device was built with, as `hello` says.
    private var schemaVersion: Int64 = 0
    /// Whether the device reads compact downloads, as `hello` says.
    private(set) var readsCompact = false
    /// The session's place among the user's connections, from `hello` to the end.
    private var place: UserConnections.Place?
    /// Whether the session counts for its user's presence.
    private var isPresent = false
    private var clock = HybridClock()
    /// When the device was last told that its large frame arrives.
    private var lastSign: Duration?
    private var unanswered: UnansweredUploads
    private let reads: SocketReads
    private var throttle: FrameThrottle?
    /// The session's description in a crash report.
    private var workText = "session"
    /// Whether the socket's queue holds documents that the kernel hasn't taken.
    private var holdsData = false
    private let drain: DrainWaiters
    private let onEnd: (DeviceSession) -> Void

    /// The largest frame of a device before its user is known, in bytes.
    static let helloBytes = 64 << 10

    init(
        _ socket: WebSocket, app: String, shard: FeedShard, context: GatewayContext,
        onEnd: @escaping (DeviceSession) -> Void
    ) {
        self.onEnd = onEnd
        self.socket = socket
        drain = DrainWaiters(socket)
        self.app = app
        self.shard = shard
        self.context = context
        machine = ConnectionStateMachine(limits: context.limits, now: context.time)
        unanswered = UnansweredUploads(budget: context.frames)
        reads = SocketReads(socket, window: context.downloads.window, budget: context.chunks)
    }

    /// Starts to handle the socket's events.
    func start() {
        GatewayMetrics.connections.increment()
        // The socket holds the session as long as it is open.
        socket.onMessage = { [self] opcode, bytes in received(opcode, bytes) }
        let throttle = FrameThrottle(socket, budget: context.frameTime) { [self] in resumeReading() }
        self.throttle = throttle
        socket.onHandled = { throttle.charge($0) }
        socket.onDrain = { [self] in drained() }
        socket.mayFlush = { [self] in !holdsData || context.lease.isValid }
        socket.onViolation = { [self] code in
            let limit = socket.maxMessageBytes
            switch code {
            case .messageTooBig:
                report(.init(code: .frameTooLarge, message: "the frame is larger than \(limit) bytes"))
            case .tryAgainLater:
                report(.init(code: .unavailable, message: "too many large frames are on their way; try again"))
            default: report(.init(code: .badFrame, message: "the frame breaks the rules of WebSocket, or isn't UTF-8"))
            }
        }
        socket.onProgress = { [self] in arriving() }
        socket.onQuiet = { [self] isQuiet in setPresent(!isQuiet) }
        socket.onClose = { [self] _ in ended() }
        let timer = LoopTimer(socket.loop) { [self] in check() }
        self.timer = timer
        scheduleCheck()
    }

    // MARK: Frames from the device

    private func received(_ opcode: WebSocketFrame.Opcode, _ bytes: UnsafeRawBufferPointer) {
        machine.heard(now: context.time)
        let work = CrashReport.Work(workText)
        defer { work.end() }
        do {
            guard opcode == .text else {
                throw SyncProtocolError(code: .badFrame, message: "frames are text messages")
            }
            try handle(try DeviceFrame(bytes), size: bytes.count)
        } catch let error as SyncProtocolError {
            fail(.init(error))
        } catch let refusal as ConnectionStateMachine.Refusal {
            fail(.init(code: refusal.errorCode, message: refusal.message))
        } catch {
            context.logger.error(
                "a frame can't be handled", metadata: ["connection.id": "\(id)", "error": "\(error)"])
            fail(.init(code: .internalError, message: "the frame could not be handled"))
        }
    }

    /// A part of a large frame has arrived. The device's ping waits behind it, and the device must hear something meanwhile.
    private func arriving() {
        machine.heard(now: context.time)
        scheduleCheck()
        guard machine.identity != nil else { return }
        if let lastSign, context.time - lastSign < .seconds(15) { return }
        lastSign = context.time
        send(.pong)
    }

    private func resumeReading() {
        if !unanswered.isFull, throttle?.isPaused != true { socket.resumeReading() }
    }

    private func handle(_ frame: DeviceFrame, size: Int) throws {
        if machine.identity == nil {
            guard case .hello(let hello) = frame else { throw ConnectionStateMachine.Refusal.helloExpected }
            return try open(hello)
        }
        switch frame {
        case .hello: throw ConnectionStateMachine.Refusal.alreadyOpen
        case .subscribe(let partition, let checkpoint, let resume, let holds):
            try subscribe(
                partition, checkpoint: checkpoint, resuming: resume.flatMap { ResumeToken($0) }, holding: holds)
        case .unsubscribe(let partition):
            subscriptions[partition]?.unsubscribe()
            forget(partition)
        case .upload(let upload): try accept(upload, size: size)
        case .presence(let update):
            context.presence.watch(update.watch, session: self)
            if let member {
                context.presence.say(.init(state: update.state, data: update.data), of: member, session: id)
            }
        case .token(let token): try renew(token)
        case .ping: send(.pong)
        }
    }

    private func open(_ hello: DeviceFrame.Hello) throws {
        guard hello.protocolName == SyncProtocolVersion.name else {
            return fail(.init(code: .unsupportedProtocol, message: "this gateway speaks \(SyncProtocolVersion.name)"))
        }
        guard context.apps.app(app) != nil else {
            return refuseApp()
        }
        guard let claims = verify(hello.token) else { return }
        let identity = ConnectionIdentity(app: app, user: claims.user, device: hello.device)
        if place == nil { place = context.connections.take(app: app, user: claims.user) }
        guard place != nil else {
            let limit = context.connections.limit
            return fail(
                .init(code: .tooManyConnections, message: "a user has at most \(limit) connections; close another one"))
        }
        try machine.open(identity, tokenExpiry: expiry(of: claims), now: context.time)
        self.claims = claims
        schemaVersion = hello.schemaVersion
        readsCompact = hello.readsCompact
        let sender = Sender.number(app: identity.app, user: identity.user)
        throttle?.sender = sender
        unanswered.sender = sender
        reads.receiver = sender
        socket.allow(messagesOf: context.limits.frameBytes, from: context.frames, of: sender)
        workText = "session \(id) app=\(app) user=\(claims.user) device=\(hello.device)"
        scheduleCheck()
        setPresent(true)
        send(
            .welcome(
                .init(session: id, serverTime: context.wallTime, limits: .init(context.limits))))
    }

    /// - Parameter keepsLease: whether the user counts as online until the lease expires.
    private func setPresent(_ isPresent: Bool, keepsLease: Bool = false) {
        guard let member, isPresent != self.isPresent else { return }
        self.isPresent = isPresent
        if isPresent { context.presence.join(member) } else { context.presence.leave(member, keepsLease: keepsLease) }
    }

    private func renew(_ token: String) throws {
        guard let claims = verify(token) else { return }
        try machine.renew(user: claims.user, tokenExpiry: expiry(of: claims), now: context.time)
        self.claims = claims
        scheduleCheck()
    }

    private func verify(_ token: String) -> TokenClaims? {
        do {
            let claims = try context.access.verifier.verify(token, app: app, now: context.wallTime / 1000)
            return refusesShutOut(claims) ? nil : claims
        } catch {
            fail(
                .init(
                    code: error.code == .expired ? .tokenExpired : .badToken, message: error.message))
            return nil
        }
    }

    /// Ends the connection of a user whose account is disabled or deleted, and of a session that has ended.
    private func refusesShutOut(_ claims: TokenClaims) -> Bool {
        switch context.access.shutOut.reason(claims) {
        case nil: return false
        case .disabled: fail(.init(code: .userDisabled, message: "the account is disabled"))
        case .deleted: fail(.init(code: .userDisabled, message: "the account is deleted"))
        case .sessionEnded: fail(.init(code: .sessionEnded, message: "the session has ended; sign in again"))
        }
        return true
    }

    /// Called when a user was blocked or a session has ended: closes this connection if its user or session is affected.
    func shutOutChanged() {
        guard let claims, socket.isOpen else { return }
        _ = refusesShutOut(claims)
    }

    func appRemoved(_ app: String) {
        if socket.isOpen, app.hasSameBytes(as: self.app) { refuseApp() }
    }

    private func refuseApp() { fail(.init(code: .unknownApp, message: "no app \(app) is deployed")) }

    /// The token's expiry on the clock of the state machine.
    private func expiry(of claims: TokenClaims) -> Duration {
        context.time + .milliseconds(claims.expiresAt * 1000 - context.wallTime)
    }

    private func subscribe(
        _ partition: Partition, checkpoint: Revision, resuming token: ResumeToken?, holding holdings: Holdings?
    ) throws {
        let sync = context.apps.app(app)?.definition.sync
        guard !partition.isInternal, let value = partition.value, Partition(value: value) == partition,
            sync?.admits(value) ?? true
        else {
            let why = sync.map { ", since its key is of type \($0.partitionType)" } ?? ""
            return fail(
                .init(
                    code: .unknownPartition,
                    message: "the app has no partition \(partition.text)\(why): \(Partition.form)", partition: partition
                ))
        }
        // A device may believe that a partition is closed that it has just opened, when its frame and a report crossed each other.
        subscriptions[partition]?.unsubscribe()
        do {
            try machine.subscribe(partition, now: context.time)
        } catch .tooManySubscriptions {
            // The partitions that are open aren't affected.
            let refusal = ConnectionStateMachine.Refusal.tooManySubscriptions
            return fail(.init(code: refusal.errorCode, message: refusal.message, partition: partition))
        }
        let subscription = PartitionSubscription(
            partition, checkpoint: checkpoint, resuming: token, holding: holdings, session: self)
        subscriptions[partition] = subscription
        subscription.start()
    }

    /// - Parameter size: The bytes of the frame.
    private func accept(_ upload: DeviceFrame.Upload, size: Int) throws {
        guard let identity = machine.identity else { throw ConnectionStateMachine.Refusal.helloExpected }
        do {
            try machine.upload(upload.partition, count: upload.changesets.count, now: context.time)
        } catch .notSubscribed {
            // The gateway may have closed the partition while the upload was in flight.
            return fail(
                .init(
                    code: .notSubscribed, message: ConnectionStateMachine.Refusal.notSubscribed.message,
                    partition: upload.partition))
        }
        let text = size / max(upload.changesets.count, 1)
        let sizes = upload.changesets.map { $0.memory(ofText: text) }
        guard unanswered.add(sizes.reduce(0, +)) else {
            for _ in upload.changesets { machine.answered(upload.partition) }
            return refuse(
                upload.partition,
                .init(
                    code: .unavailable, message: "the gateway has too many uploads in memory; send them again",
                    partition: upload.partition, retryAfter: Self.pause()))
        }
        if unanswered.isFull { socket.pauseReading() }
        let correction = ClockCorrection(sentAt: upload.sentAt, receivedAt: context.wallTime)
        let now = clock.tick(milliseconds: context.wallTime)
        for (changeset, bytes) in zip(upload.changesets, sizes) {
            UploadRun(
                upload: .init(
                    user: identity.user, device: identity.device, partition: upload.partition, changeset: changeset,
                    time: correction.corrected(changeset.clock, now: now), bytes: bytes, schemaVersion: schemaVersion),
                session: self, subscription: subscriptions[upload.partition]
            ).start(on: socket.loop)
        }
    }

    /// Sends the answer of an upload.
    ///
    /// - Parameter subscription: As in ``closed(_:of:_:)``. A device that has opened the partition again sends the changeset again, and hears
    ///   then. An answer in front of a `subscribed` that was read before the commit would tell it that the server has lost the changeset.
    func answered(_ upload: Upload, of subscription: PartitionSubscription?, _ frame: GatewayFrame) {
        release(upload)
        if subscriptions[upload.partition] === subscription { send(frame) }
    }

    /// An upload can't be committed now: closes its partition; the device opens it again.
    ///
    /// - Parameter subscription: The one that was open when the upload came. When the device has opened the partition again since, it
    ///   doesn't wait for the answer, and a report would say something wrong about what it has sent in the new subscription.
    func closed(_ upload: Upload, of subscription: PartitionSubscription?, _ report: GatewayFrame.ErrorReport) {
        release(upload)
        guard subscriptions[upload.partition] === subscription else { return }
        refuse(upload.partition, report)
    }

    private func release(_ upload: Upload) {
        machine.answered(upload.partition)
        unanswered.remove(upload.bytes)
        resumeReading()
    }

    private func refuse(_ partition: Partition, _ report: GatewayFrame.ErrorReport) {
        guard let subscription = subscriptions[partition] else { return }  // already reported
        subscription.unsubscribe()
        fail(report)
    }

    /// The time after which a device should retry what failed: random, so that devices don't all retry at once.
    static func pause() -> Duration { .milliseconds(Int64.random(in: 1000...5000)) }

    // MARK: Frames to the device

    /// The bytes that wait in the socket's queue.
    var queuedBytes: Int { socket.queuedBytes }

    func send(_ frame: GatewayFrame) { socket.send(WebSocketFrame(.text, frame.encoded())) }

    /// Sends documents, which are flushed only while the lease is valid.
    func send(data frame: WebSocketFrame) {
        holdsData = true
        socket.send(frame)
    }

    /// Starts a read of documents for the device: at once, or when fewer are in flight and the socket's queue is shorter. The caller
    /// reports its end with `readEnded`.
    func read(_ partition: Partition, _ start: @escaping () -> Void) { reads.add(partition, start) }

    /// A read has ended, and what it found is in the socket's queue.
    func readEnded() { reads.ended() }

    private func drained() {
        holdsData = false
        reads.resume()
        drain.release()
        for subscription in subscriptions.values { subscription.drained() }
    }

    /// Calls back when everything that is queued has left, or the connection was reset.
    /// - Parameter isUrgent: Whether the connection is reset after a second; otherwise the client may take longer.
    func whenDrained(isUrgent: Bool = true, _ body: @escaping () -> Void) { drain.wait(isUrgent: isUrgent, body) }

    /// The gateway's lease has expired, or is valid again.
    func leaseChanged() {
        if holdsData, !context.lease.isValid { return socket.terminate() }
        for subscription in subscriptions.values { subscription.rightsChanged() }
    }

    /// Reports an error; one without a partition ends the connection.
    func fail(_ error: GatewayFrame.ErrorReport) {
        report(error)
        if error.partition == nil { socket.close(.policyViolation, reason: error.code.rawValue) }
    }

    private func report(_ report: GatewayFrame.ErrorReport) {
        context.logger.debug(
            "a device is refused",
            metadata: ["connection.id": "\(id)", "error.code": "\(report.code)", "error": "\(report.message)"])
        GatewayMetrics.refusals[report.code.rawValue].increment()
        send(.error(report))
    }

    /// Removes a subscription that has ended; the partition may be opened again.
    func forget(_ partition: Partition) {
        machine.unsubscribe(partition)
        reads.remove(partition)
        subscriptions[partition] = nil
    }

    /// Ends the connection because the gateway stops, or the database was restored; the device connects again, here or elsewhere.
    func shutDown() { socket.close(.serviceRestart, reason: "unavailable") }

    var identity: ConnectionIdentity? { machine.identity }

    private var member: PresenceMember? {
        identity.map { PresenceMember(app: $0.app, user: $0.user, device: $0.device) }
    }

    // MARK: Time and end

    private func scheduleCheck() {
        guard let deadline = machine.deadline else { return }
        timer?.start(ms: UInt64(max(1, (deadline - context.time) / .milliseconds(1)) + 1))
    }

    private func check() {
        do {
            try machine.check(now: context.time)
            scheduleCheck()
        } catch {
            if socket.isOpen { fail(.init(code: error.errorCode, message: error.message)) }
        }
    }

    private func ended() {
        GatewayMetrics.connections.decrement()
        // Queued documents must not be sent any more: a revocation wouldn't wait for them after this.
        if holdsData { socket.terminate() }
        timer?.close()
        timer = nil
        for subscription in subscriptions.values { subscription.unsubscribe() }
        subscriptions = [:]
        reads.close()
        throttle?.close()
        throttle = nil
        drain.release()
        // When the gateway stops, the device connects again, here or elsewhere: the user hasn't left.
        setPresent(false, keepsLease: socket.ownCloseCode == .serviceRestart)
        if let member { context.presence.forget(session: id, of: member) }
        machine.close()
        if let place { context.connections.release(place) }
        place = nil
        onEnd(self)
        // The callbacks retain this session.
        socket.onMessage = nil
        socket.onHandled = nil
        // What is queued may still leave; a revocation that is being handled waits for that.
        socket.onDrain = { [drain] in drain.release() }
        socket.onViolation = nil
        socket.onQuiet = nil
        socket.onClose = nil
    }
}

public import EventLoop
import Glibc
import TLS

/// An open WebSocket on its event loop, of a server or of a client.
///
/// Everything here must be used on ``loop``, usually from an actor that lives there; debug builds check it. wslay
/// splits and unmasks the frames, this class keeps the protocol's rules and answers control frames. What a turn of the
/// loop sends leaves in one system call at its end. The loop owns an open socket: dropping the last reference doesn't
/// close it.
///
/// An idle socket holds no buffers: the parser, the read buffer and zlib's state belong to the loop.
///
/// `@unchecked Sendable`: confined to its loop, so it may be passed through code that runs elsewhere, but not used
/// there.
public final class WebSocket: TickFlushable, @unchecked Sendable {
    enum State {
        case open
        /// Our close frame is queued or sent, the peer's hasn't come.
        case closing
        /// Both know. What is queued is sent, then FIN; input is discarded until the peer's end.
        case lingering
        case closed
    }

    enum Role {
        case server, client
    }

    /// The loop on which the socket lives.
    public let loop: EventLoop
    /// The subprotocol that was agreed on.
    public let subprotocol: String?
    /// Whether permessage-deflate was agreed on.
    public let isCompressed: Bool

    let role: Role
    let settings: SessionSettings
    let resources: LoopResources
    var descriptor: Int32
    /// Of a client over `wss://`.
    let tls: TLSChannel?
    var watcher: FDWatcher?
    var state = State.open

    var parser: FrameParser?
    var assembler: MessageAssembler
    /// What unfinished messages are taken from, and on whose account.
    var budget: (InflightBudget, sender: UInt64)?
    /// Bytes that were taken from it.
    var accounted = 0
    /// Bytes read and not parsed: early data, or what lay in the buffer when reading was paused.
    var unread: [UInt8]
    var isReadingPaused = true
    var isParsing = false
    var isContinuationQueued = false
    var lastReceived: UInt64 = 0
    /// When the ping was sent whose answer is due.
    var pingedAt: UInt64?
    var isQuiet = false

    var queue = OutgoingQueue()
    var isDirty = false
    var isBlocked = false
    var selfReference: WebSocket?
    /// Where the socket stands in the loop's deadlines.
    var deadline: (bucket: DeadlineWheel.Bucket?, position: Int) = (nil, 0)

    /// A message. The bytes are valid during the call only; a text is UTF-8. Not called after ``close(_:reason:)``.
    public var onMessage: ((WebSocketFrame.Opcode, UnsafeRawBufferPointer) -> Void)?
    /// Called when the peer has broken the protocol, with the code of the close frame that follows: what is sent now goes
    /// before it.
    public var onViolation: ((WebSocketCloseCode) -> Void)?
    /// Asked just before something is handed to the kernel: whether it may be. If not, the connection is reset, and nothing
    /// of what is queued is sent.
    public var mayFlush: (() -> Bool)?
    /// Called with `true` when the peer has become quiet (``WebSocketConfiguration/quietTimeout``), with `false` when it is heard again.
    public var onQuiet: ((Bool) -> Void)?
    /// Called once, when the peer closed, the connection was lost, or the peer answered our close (or took too long
    /// to). The callbacks are dropped after it.
    public var onClose: ((WebSocketClosure) -> Void)?
    /// Called whenever everything that was queued is with the kernel, at the end of a turn of the loop or later.
    public var onDrain: (() -> Void)?
    /// Called when the descriptor is closed: after ``onClose``, by up to two seconds.
    package var onEnd: ((WebSocket) -> Void)?

    /// Takes over a connected socket; reads nothing before ``start()``.
    ///
    /// - Parameters:
    ///   - early: bytes that came with the handshake.
    init(
        _ loop: EventLoop, descriptor: Int32, tls: TLSChannel?, role: Role, settings: SessionSettings,
        subprotocol: String?, isCompressed: Bool, early: [UInt8]
    ) throws {
        loop.assertInLoop()
        self.loop = loop
        self.descriptor = descriptor
        self.tls = tls
        self.role = role
        self.settings = settings
        self.subprotocol = subprotocol
        self.isCompressed = isCompressed
        unread = early
        assembler = MessageAssembler(
            isServer: role == .server, allowsCompression: isCompressed, maxMessageBytes: settings.maxMessageBytes)
        resources = LoopResources.acquire(for: loop)
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        do {
            watcher = try FDWatcher(loop, fd: descriptor) { [unowned self] in ready($0) }
        } catch {
            resources.release()
            throw error
        }
    }

    /// Whether messages can be sent and received.
    public var isOpen: Bool { state == .open }

    /// What this side closed it with, also where the peer never answered; `nil` where this side didn't.
    public private(set) var ownCloseCode: WebSocketCloseCode?

    /// Bytes that are queued and that the kernel hasn't taken. The owner bounds it: above its window it stops sending,
    /// and goes on at ``onDrain``.
    public var queuedBytes: Int { queue.bytes }

    /// The largest message that is taken; for a peer that may do more once it is known who it is.
    public var maxMessageBytes: Int { assembler.maxMessageBytes }

    /// Takes larger messages from now on.
    /// - Parameters:
    ///   - budget: what such messages take together while they are on their way; a socket for which nothing is left ends with 1013.
    ///   - sender: on whose account.
    package func allow(messagesOf bytes: Int, from budget: InflightBudget, of sender: UInt64) {
        loop.assertInLoop()
        assembler.maxMessageBytes = bytes
        self.budget = (budget, sender)
    }

    /// Begins to read. Called after the callbacks are set.
    func start() {
        guard state != .closed else { return }
        selfReference = self
        lastReceived = loop.now
        if state == .open { schedulePing() }
        resumeReading()
    }

    // MARK: Sending

    /// Queues a message; it leaves at the end of the loop's turn. Nothing happens when the socket isn't open.
    public func send(_ frame: WebSocketFrame) {
        loop.assertInLoop()
        guard state == .open else { return }
        if role == .server {
            enqueue(frame.encoding(compressed: isCompressed))
        } else {
            let encoding = frame.encoding(compressed: isCompressed)
            let isDeflated = encoding !== frame.plain
            let mask = UInt32.random(in: .min ... .max)
            enqueue(EncodedFrame(opcode: frame.opcode.rawValue, encoding.payload, isCompressed: isDeflated, mask: mask))
        }
    }

    /// Queues a text message. For many receivers make one ``WebSocketFrame``.
    public func send(text: String) { send(WebSocketFrame(text: text)) }

    /// Sends a ping now, besides those of the ping interval.
    public func ping() {
        loop.assertInLoop()
        guard state == .open else { return }
        sendControl(9, [])
    }

    /// Begins the closing handshake: what is queued is sent, then the close frame. The peer's answer, or the close
    /// timeout, ends it.
    ///
    /// - Parameters:
    ///   - code: one that may be sent; others count as ``WebSocketCloseCode/normal``.
    ///   - reason: for the peer's logs; cut at 123 bytes of UTF-8.
    public func close(_ code: WebSocketCloseCode = .normal, reason: String = "") {
        loop.assertInLoop()
        guard state == .open else { return }
        state = .closing
        ownCloseCode = code
        sendClose(code.isSendable ? code : .normal, reason)
        resources.deadlines.schedule(self, after: settings.closeTimeout)
        // The peer's answer must be read even if the owner had paused.
        resumeReading()
    }

    /// Resets the connection now: nothing that is queued, here or in the kernel, reaches the peer any more.
    public func terminate() {
        loop.assertInLoop()
        end(WebSocketClosure(.abnormal, "terminated"), resets: true)
    }

    func sendClose(_ code: WebSocketCloseCode?, _ reason: String) {
        guard let code else { return sendControl(8, []) }
        var payload = [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)]
        for character in reason {
            guard payload.count + character.utf8.count <= 125 else { break }
            payload.append(contentsOf: character.utf8)
        }
        sendControl(8, payload)
    }

    func sendControl(_ opcode: UInt8, _ payload: [UInt8]) {
        let mask: UInt32? = role == .client ? .random(in: .min ... .max) : nil
        enqueue(payload.withUnsafeBytes { EncodedFrame(opcode: opcode, $0, mask: mask) })
    }

    private func enqueue(_ frame: EncodedFrame) {
        queue.append(frame)
        guard queue.bytes <= settings.maxQueuedBytes else {
            return end(WebSocketClosure(.tryAgainLater, "the peer reads too slowly"), resets: true)
        }
        guard !isDirty, !isBlocked else { return }
        isDirty = true
        loop.markDirty(self)
    }

    /// Called by the loop at the end of a turn in which something was sent.
    public func flushTick() {
        isDirty = false
        flush()
    }

    func flush() {
        guard state != .closed else { return }
        if let mayFlush, !queue.isEmpty, !mayFlush() {
            return end(WebSocketClosure(.abnormal, "what is queued may not be sent any more"), resets: true)
        }
        switch queue.write(to: descriptor, through: tls) {
        case .drained:
            isBlocked = false
            if state == .lingering { shutdown(descriptor, Int32(SHUT_WR)) }
            watch()
            onDrain?()
        case .blocked:
            isBlocked = true
            watch()
        case .failed(let code):
            end(WebSocketClosure(.abnormal, String(cString: strerror(code))))
        }
    }

    func watch() {
        var interest: FDWatcher.Interest = isReadingPaused ? [] : .read
        if isBlocked { interest.insert(.write) }
        watcher?.set(interest)
    }
}

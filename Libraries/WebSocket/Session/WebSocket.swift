public import EventLoop
import Glibc
import TLS

/// An open WebSocket of a server or a client, on its event loop.
///
/// All members must be used on ``loop``, usually from an actor on it; debug builds check this. wslay splits and unmasks the frames;
/// this class enforces the protocol's rules and answers control frames. All frames of one turn of the loop are sent in one system
/// call at its end. The loop owns an open socket: releasing the last reference doesn't close it.
///
/// An idle socket has no buffers: the parser, the read buffer and zlib's state belong to the loop.
///
/// `@unchecked Sendable`: it is confined to its loop. Code that runs elsewhere may pass it on, but not use it.
public final class WebSocket: TickFlushable, @unchecked Sendable {
    enum State {
        case open
        /// This side's close frame is queued or sent, the peer's hasn't been received.
        case closing
        /// Both sides know of the end. Queued frames are sent, then FIN; input is discarded until the peer's end of stream.
        case lingering
        case closed
    }

    enum Role {
        case server, client
    }

    /// The loop of the socket.
    public let loop: EventLoop
    /// The negotiated subprotocol.
    public let subprotocol: String?
    /// Whether permessage-deflate was negotiated.
    public let isCompressed: Bool

    let role: Role
    let settings: SessionSettings
    let resources: LoopResources
    var descriptor: Int32
    /// The TLS channel of a client over `wss://`.
    let tls: TLSChannel?
    var watcher: FDWatcher?
    var state = State.open

    var parser: FrameParser?
    var assembler: MessageAssembler
    /// The budget for incomplete messages, and the sender to which they are charged.
    var budget: (InflightBudget, sender: UInt64)?
    /// The number of bytes that were taken from the budget.
    var accounted = 0
    /// The bytes of the incomplete message at the last call of ``onProgress``.
    var toldBytes = 0
    /// Bytes that were read but not parsed: early data, or the rest of the buffer when reading was paused.
    var unread: [UInt8]
    var isReadingPaused = true
    var isParsing = false
    /// Runs while unread bytes wait for a later turn of the loop.
    var continuation: LoopTimer?
    /// The bytes of messages that were delivered in this turn of the loop.
    var delivered = 0
    var lastReceived: UInt64 = 0
    /// When the unanswered ping was sent; `nil` when there is none.
    var pingedAt: UInt64?
    var isQuiet = false

    var queue = OutgoingQueue()
    var isDirty = false
    var isBlocked = false
    var selfReference: WebSocket?
    /// The socket's position in the loop's deadlines.
    var deadline: (bucket: DeadlineWheel.Bucket?, position: Int) = (nil, 0)
    /// Until when it lingers at most, in the loop's milliseconds.
    var lingersUntil: UInt64 = 0

    /// Called with each message. The bytes are valid only during the call; a text is valid UTF-8. Not called after
    /// ``close(_:reason:)``.
    public var onMessage: ((WebSocketFrame.Opcode, UnsafeRawBufferPointer) -> Void)?
    /// Called when the peer has violated the protocol, with the code of the close frame that follows. Messages that are sent in the
    /// callback precede it.
    public var onViolation: ((WebSocketCloseCode) -> Void)?
    /// Called after each message with the processor time that it took, inflating included.
    public var onHandled: ((Duration) -> Void)?
    /// Called just before queued frames are written to the kernel. If it returns `false`, the connection is reset, and no queued
    /// frame is sent.
    public var mayFlush: (() -> Bool)?
    /// Called while a large message arrives, with every 64 KiB of it.
    public var onProgress: (() -> Void)?
    /// Called with `true` when the peer has become quiet (``WebSocketConfiguration/quietTimeout``), with `false` when data arrives
    /// from it again.
    public var onQuiet: ((Bool) -> Void)?
    /// Called once, when the peer has closed, the connection was lost, or the peer has answered this side's close frame (or took
    /// too long). The callbacks are released afterwards.
    public var onClose: ((WebSocketClosure) -> Void)?
    /// Called whenever the kernel has accepted all queued bytes, at the end of a turn of the loop or later; also after ``onClose``, when the
    /// last ones leave, and at last when the descriptor is closed and nothing is queued any more. Released then.
    public var onDrain: (() -> Void)?
    /// Called when the descriptor is closed, which a peer that still reads or writes can delay by half a minute after ``onClose``.
    package var onEnd: ((WebSocket) -> Void)?

    /// Takes over a connected socket. It reads nothing before ``start()``.
    ///
    /// - Parameters:
    ///   - early: bytes that were received with the handshake.
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

    /// The code with which this side closed the socket, even if the peer never answered; `nil` if it didn't.
    public private(set) var ownCloseCode: WebSocketCloseCode?

    /// The number of queued bytes that the kernel hasn't accepted. The owner must bound it: beyond its window it stops sending, and
    /// continues at ``onDrain``.
    public var queuedBytes: Int { queue.bytes }

    /// The maximum size of a message. It can be raised once a peer is authenticated.
    public var maxMessageBytes: Int { assembler.maxMessageBytes }

    /// Accepts larger messages from now on.
    /// - Parameters:
    ///   - budget: the common budget for incomplete messages; a socket that gets no bytes from it ends with 1013.
    ///   - sender: the sender to which they are charged.
    package func allow(messagesOf bytes: Int, from budget: InflightBudget, of sender: UInt64) {
        loop.assertInLoop()
        assembler.maxMessageBytes = bytes
        self.budget = (budget, sender)
    }

    /// Starts reading. Called after the callbacks are set.
    func start() {
        guard state != .closed else { return }
        selfReference = self
        lastReceived = loop.now
        if state == .open { schedulePing() }
        resumeReading()
    }

    // MARK: Sending

    /// Queues a message, which is sent at the end of the loop's turn. Does nothing when the socket isn't open.
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

    /// Queues a text message. For many receivers, create one ``WebSocketFrame``.
    public func send(text: String) { send(WebSocketFrame(text: text)) }

    /// Sends a ping, in addition to those of the ping interval.
    public func ping() {
        loop.assertInLoop()
        guard state == .open else { return }
        sendControl(9, [])
    }

    /// Starts the closing handshake: queued messages are sent, then the close frame. The peer's answer, or the close timeout, ends
    /// it.
    ///
    /// - Parameters:
    ///   - code: the close code; if it may not be sent, ``WebSocketCloseCode/normal`` is used.
    ///   - reason: the reason for the peer's logs; truncated to 123 bytes of UTF-8.
    public func close(_ code: WebSocketCloseCode = .normal, reason: String = "") {
        loop.assertInLoop()
        guard state == .open else { return }
        state = .closing
        ownCloseCode = code
        sendClose(code.isSendable ? code : .normal, reason)
        resources.deadlines.schedule(self, after: settings.closeTimeout)
        // The peer's answer must be read even if the owner has paused reading.
        resumeReading()
    }

    /// Resets the connection immediately: bytes that are queued here or in the kernel don't reach the peer any more.
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

    /// Called by the loop at the end of a turn in which frames were queued.
    public func flushTick() {
        isDirty = false
        flush()
    }

    func flush() {
        guard state != .closed else { return }
        if let mayFlush, !queue.isEmpty, !mayFlush() {
            return end(WebSocketClosure(.abnormal, "the queued frames may not be sent any more"), resets: true)
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

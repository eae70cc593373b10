import EventLoop
import Glibc

/// An open WebSocket on its event loop, of a server or of a client.
///
/// Everything here must be used on ``loop``, usually from an actor that lives there; debug builds check it. wslay splits and unmasks the
/// frames, this class keeps the protocol's rules and answers control frames. What a turn of the loop sends leaves in one system call
/// at its end. The loop owns an open socket: dropping the last reference doesn't close it.
///
/// An idle socket holds no buffers: the parser, the read buffer and zlib's state belong to the loop.
///
/// `@unchecked Sendable`: confined to its loop, so it may be passed through code that runs elsewhere, but not used there.
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

    /// How long a peer may take to end its side after the close frames, milliseconds. Closing at once could reset the connection and
    /// lose our close frame.
    private static let lingerTime: UInt64 = 2000

    /// The loop on which the socket lives.
    public let loop: EventLoop
    /// The subprotocol that was agreed on.
    public let subprotocol: String?
    /// Whether permessage-deflate was agreed on.
    public let isCompressed: Bool

    private let role: Role
    private let settings: SessionSettings
    private let resources: LoopResources
    private var descriptor: Int32
    private var watcher: FDWatcher?
    private(set) var state = State.open

    private var parser: FrameParser?
    private var assembler: MessageAssembler
    /// Bytes read and not parsed: early data, or what lay in the buffer when reading was paused.
    private var unread: [UInt8]
    private var isReadingPaused = true
    private var isParsing = false
    private var isContinuationQueued = false
    private var lastReceived: UInt64 = 0
    private var isPongDue = false

    private var queue = OutgoingQueue()
    private var isDirty = false
    private var isBlocked = false
    private var selfReference: WebSocket?
    /// Where the socket stands in the loop's deadlines.
    var deadline: (bucket: DeadlineWheel.Bucket?, position: Int) = (nil, 0)

    /// A message. The bytes are valid during the call only; a text is UTF-8. Not called after ``close(_:reason:)``.
    public var onMessage: ((WebSocketFrame.Opcode, UnsafeRawBufferPointer) -> Void)?
    /// Called once, when the peer closed, the connection was lost, or the peer answered our close (or took too long to). The callbacks
    /// are dropped after it.
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
        _ loop: EventLoop, descriptor: Int32, role: Role, settings: SessionSettings, subprotocol: String?,
        isCompressed: Bool,
        early: [UInt8]
    ) throws {
        loop.assertInLoop()
        self.loop = loop
        self.descriptor = descriptor
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

    /// Bytes that are queued and that the kernel hasn't taken. The owner bounds it: above its window it stops sending, and goes on at
    /// ``onDrain``.
    public var queuedBytes: Int { queue.bytes }

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

    /// Begins the closing handshake: what is queued is sent, then the close frame. The peer's answer, or the close timeout, ends it.
    ///
    /// - Parameters:
    ///   - code: one that may be sent; others count as ``WebSocketCloseCode/normal``.
    ///   - reason: for the peer's logs; cut at 123 bytes of UTF-8.
    public func close(_ code: WebSocketCloseCode = .normal, reason: String = "") {
        loop.assertInLoop()
        guard state == .open else { return }
        state = .closing
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

    private func sendClose(_ code: WebSocketCloseCode?, _ reason: String) {
        guard let code else { return sendControl(8, []) }
        var payload = [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)]
        for character in reason {
            guard payload.count + character.utf8.count <= 125 else { break }
            payload.append(contentsOf: character.utf8)
        }
        sendControl(8, payload)
    }

    private func sendControl(_ opcode: UInt8, _ payload: [UInt8]) {
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

    private func flush() {
        guard state != .closed else { return }
        switch queue.write(to: descriptor) {
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

    private func watch() {
        var interest: FDWatcher.Interest = isReadingPaused ? [] : .read
        if isBlocked { interest.insert(.write) }
        watcher?.set(interest)
    }

    // MARK: Receiving

    /// Stops reading; messages that the kernel holds wait there, and TCP slows the peer down. A message that is being handled may be
    /// the last. While paused, a lost connection isn't noticed.
    public func pauseReading() {
        loop.assertInLoop()
        guard state == .open, !isReadingPaused else { return }
        isReadingPaused = true
        watch()
    }

    /// Reads again. What had been read already is delivered in a later turn of the loop.
    public func resumeReading() {
        loop.assertInLoop()
        guard state != .closed, isReadingPaused else { return }
        isReadingPaused = false
        isPongDue = false
        lastReceived = loop.now
        watch()
        guard !isParsing, parser != nil || !unread.isEmpty, !isContinuationQueued else { return }
        isContinuationQueued = true
        loop.execute { [self] in
            isContinuationQueued = false
            continueParsing()
        }
    }

    private func ready(_ interest: FDWatcher.Interest) {
        if interest.contains(.write), isBlocked { flush() }
        guard interest.contains(.read) else { return }
        switch state {
        case .open, .closing: if !isReadingPaused { read() }
        case .lingering: discard()
        case .closed: break
        }
    }

    private func read() {
        // What was read before comes first; it is parsed in this turn already.
        guard unread.isEmpty else { return }
        let buffer = resources.readBuffer
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        if count > 0 {
            lastReceived = loop.now
            isPongDue = false
            parse(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        } else if count == 0 {
            end(WebSocketClosure(.abnormal, "the peer ended the connection"))
        } else if errno != EAGAIN, errno != EINTR {
            end(WebSocketClosure(.abnormal, String(cString: strerror(errno))))
        }
    }

    private func continueParsing() {
        guard state != .closed, !isReadingPaused else { return }
        let bytes = unread
        unread = []
        bytes.withUnsafeBytes { parse($0) }
    }

    private func parse(_ bytes: UnsafeRawBufferPointer) {
        guard let parser = parser ?? resources.lendParser() else {
            return end(WebSocketClosure(.abnormal, "out of memory"), resets: true)
        }
        self.parser = parser
        parser.feed(bytes)
        isParsing = true
        do throws(Violation) {
            while state == .open || state == .closing, !isReadingPaused, let piece = try parser.next() {
                if let event = try assembler.add(piece) { try handle(event, piece) }
            }
        } catch {
            fail(error)
        }
        isParsing = false
        guard state == .open || state == .closing else {
            self.parser = nil
            return
        }
        if !parser.rest.isEmpty { unread = Array(parser.rest) }
        parser.detachInput()
        if parser.isAtBoundary {
            resources.giveBack(parser)
            self.parser = nil
        }
    }

    private func handle(_ event: MessageAssembler.Event, _ piece: FramePiece) throws(Violation) {
        switch event {
        case .message(let opcode, let isCompressed, .piece):
            try deliver(opcode, isCompressed, piece.bytes)
        case .message(let opcode, let isCompressed, .buffer):
            let message = assembler.takeBuffer()
            var violation: Violation?
            message.withUnsafeBytes { bytes in
                do throws(Violation) { try deliver(opcode, isCompressed, bytes) } catch { violation = error }
            }
            if let violation { throw violation }
        case .ping:
            if state == .open { sendControl(10, assembler.control) }
        case .pong: break
        case .close(let code, let reason): peerClosed(code, reason)
        }
    }

    private func deliver(
        _ opcode: WebSocketFrame.Opcode, _ isCompressed: Bool, _ bytes: UnsafeRawBufferPointer
    ) throws(Violation) {
        guard state == .open else { return }
        guard isCompressed else {
            onMessage?(opcode, bytes)
            return
        }
        guard let inflater = resources.sharedInflater() else { throw Violation(.internalError, "out of memory") }
        var isText = true
        do throws(Inflater.Failure) {
            try inflater.inflate(bytes, limit: settings.maxMessageBytes) { message in
                isText = opcode == .binary || UTF8Validator.isValid(message)
                if isText { onMessage?(opcode, message) }
            }
        } catch {
            switch error {
            case .corrupt: throw Violation(.invalidPayload, "compressed data is damaged")
            case .tooBig: throw Violation(.messageTooBig, "message above \(settings.maxMessageBytes) bytes")
            case .outOfMemory: throw Violation(.internalError, "out of memory")
            }
        }
        if !isText { throw Violation(.invalidPayload, "text isn't UTF-8") }
    }

    // MARK: Ending

    private func peerClosed(_ code: WebSocketCloseCode?, _ reason: String) {
        if state == .open { sendClose(code, "") }
        linger(WebSocketClosure(code ?? .noStatus, reason, isByPeer: true))
    }

    private func fail(_ violation: Violation) {
        if state == .open { sendClose(violation.code, violation.reason) }
        linger(WebSocketClosure(violation.code, violation.reason))
    }

    /// A watcher on a socket that nobody reads would spin, so input is read and dropped until the peer's end.
    private func linger(_ closure: WebSocketClosure) {
        guard state == .open || state == .closing else { return }
        state = .lingering
        unread = []
        isReadingPaused = false
        resources.deadlines.schedule(self, after: Self.lingerTime)
        report(closure)
        flush()
    }

    private func discard() {
        let buffer = resources.readBuffer
        // A peer that never stops sending must not hold the loop.
        for _ in 0..<16 {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 || count < 0 && errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return }
            return end(WebSocketClosure(.abnormal))
        }
    }

    /// Called by the loop's deadlines.
    func deadlinePassed() {
        switch state {
        case .open: checkPeer()
        case .closing: end(WebSocketClosure(.abnormal, "the peer didn't answer the close frame"))
        case .lingering: end(WebSocketClosure(.abnormal))
        case .closed: break
        }
    }

    private func checkPeer() {
        guard let interval = settings.pingInterval else { return }
        // Pongs of a paused socket lie unread, so nothing can be said about its peer.
        if isReadingPaused { return schedulePing() }
        if isPongDue { return end(WebSocketClosure(.abnormal, "no answer to a ping"), resets: true) }
        let silence = loop.now - lastReceived
        if silence >= interval {
            sendControl(9, [])
            isPongDue = true
            resources.deadlines.schedule(self, after: settings.pongTimeout)
        } else {
            resources.deadlines.schedule(self, after: interval - silence)
        }
    }

    private func schedulePing() {
        if let interval = settings.pingInterval { resources.deadlines.schedule(self, after: interval) }
    }

    private func report(_ closure: WebSocketClosure) {
        let callback = onClose
        onMessage = nil
        onDrain = nil
        onClose = nil
        callback?(closure)
    }

    private func end(_ closure: WebSocketClosure, resets: Bool = false) {
        guard state != .closed else { return }
        state = .closed
        resources.deadlines.cancel(self)
        // Before the descriptor: its number may be somebody else's at once.
        watcher?.close()
        watcher = nil
        if resets {
            var option = LingerOption(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<LingerOption>.size))
        }
        Glibc.close(descriptor)
        descriptor = -1
        queue.removeAll()
        unread = []
        if !isParsing { parser = nil }
        report(closure)
        let callback = onEnd
        onEnd = nil
        callback?(self)
        resources.release()
        // Callers up the stack still use self.
        loop.execute { [self] in selfReference = nil }
    }
}

private typealias LingerOption = Glibc.linger

import EventLoop
import Glibc

extension WebSocket {
    /// Stops reading: received messages wait in the kernel, and TCP's flow control slows down the peer. A message that is being
    /// handled may be the last one. While reading is paused, a lost connection isn't noticed.
    public func pauseReading() {
        loop.assertInLoop()
        guard state == .open, !isReadingPaused else { return }
        isReadingPaused = true
        watch()
    }

    /// Resumes reading. Messages that had already been read are delivered in a later turn of the loop.
    public func resumeReading() {
        loop.assertInLoop()
        guard state != .closed, isReadingPaused else { return }
        isReadingPaused = false
        heard()
        watch()
        guard !isParsing, parser != nil || !unread.isEmpty else { return }
        continueLater()
    }

    /// Parses the unread bytes in a later turn of the loop, after other sockets had theirs: what is enqueued on the loop runs before it
    /// polls the sockets.
    private func continueLater() {
        guard continuation == nil, state != .closed else { return }
        let timer = LoopTimer(loop) { [self] in
            continuation?.close()
            continuation = nil
            continueParsing()
        }
        continuation = timer
        timer.start(ms: 1)
    }

    /// How many bytes of messages are delivered in a turn of the loop, except that one message may have any size. A few kilobytes of
    /// compressed frames may be megabytes of messages.
    private static let bytesPerTurn = 256 << 10

    func ready(_ interest: FDWatcher.Interest) {
        if interest.contains(.write), isBlocked {
            // The peer has received some of the queued bytes, so it is alive. A ping waits behind all of them, so its missing
            // answer means nothing yet.
            heard()
            if state == .lingering { goOnLingering() }
            flush()
        }
        guard interest.contains(.read) else { return }
        switch state {
        case .open, .closing: if !isReadingPaused { read() }
        case .lingering: discard()
        case .closed: break
        }
    }

    private func read() {
        // Earlier unread bytes are parsed first, in this turn.
        guard unread.isEmpty else { return }
        let buffer = resources.readBuffer
        let count =
            tls?.receive(from: descriptor, into: buffer) ?? recv(descriptor, buffer.baseAddress, buffer.count, 0)
        if count > 0 {
            heard()
            parse(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        } else if count == 0 {
            end(WebSocketClosure(.abnormal, "the peer ended the connection"))
        } else if errno != EAGAIN, errno != EINTR {
            end(WebSocketClosure(.abnormal, String(cString: strerror(errno))))
        }
    }

    private func heard() {
        lastReceived = loop.now
        pingedAt = nil
        guard isQuiet else { return }
        isQuiet = false
        onQuiet?(false)
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
        delivered = 0
        do throws(Violation) {
            while state == .open || state == .closing, !isReadingPaused, delivered < Self.bytesPerTurn,
                let piece = try parser.next()
            {
                if let event = try assembler.add(piece) { try handle(event, piece) }
                try account()
            }
        } catch {
            fail(error)
        }
        isParsing = false
        tellProgress()
        guard state == .open || state == .closing else {
            self.parser = nil
            return
        }
        if !parser.rest.isEmpty { unread = Array(parser.rest) }
        if delivered >= Self.bytesPerTurn, !isReadingPaused { continueLater() }
        parser.detachInput()
        if parser.isAtBoundary {
            resources.giveBack(parser)
            self.parser = nil
        }
    }

    /// The bytes of an incomplete message after which ``onProgress`` is called again.
    static let progressBytes = 64 << 10

    private func tellProgress() {
        let pending = assembler.pendingBytes
        if pending < toldBytes { toldBytes = 0 }
        guard pending >= toldBytes + Self.progressBytes else { return }
        toldBytes = pending
        onProgress?()
    }

    /// Takes the bytes of the incomplete message from the budget, or returns those of earlier ones.
    private func account() throws(Violation) {
        guard let (budget, sender) = budget else { return }
        let bytes = max(0, assembler.pendingBytes - InflightBudget.uncounted)
        if bytes > accounted, budget.take(bytes - accounted, of: sender) != nil {
            throw Violation(.tryAgainLater, "too many bytes are in flight")
        }
        if bytes < accounted { budget.giveBack(accounted - bytes, of: sender) }
        accounted = bytes
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
        let begin = onHandled.map { _ in ThreadTime.now }
        defer { if let begin { onHandled?(ThreadTime.now - begin) } }
        guard isCompressed else {
            delivered += bytes.count
            onMessage?(opcode, bytes)
            return
        }
        guard let inflater = resources.sharedInflater() else { throw Violation(.internalError, "out of memory") }
        var isText = true
        do throws(Inflater.Failure) {
            try inflater.inflate(bytes, limit: assembler.maxMessageBytes) { message in
                delivered += message.count
                isText = opcode == .binary || UTF8Validator.isValid(message)
                if isText { onMessage?(opcode, message) }
            }
        } catch {
            switch error {
            case .corrupt: throw Violation(.invalidPayload, "compressed data is damaged")
            case .tooBig: throw Violation(.messageTooBig, "message above \(assembler.maxMessageBytes) bytes")
            case .outOfMemory: throw Violation(.internalError, "out of memory")
            }
        }
        if !isText { throw Violation(.invalidPayload, "text isn't UTF-8") }
    }
}

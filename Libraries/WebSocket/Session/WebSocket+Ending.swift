import EventLoop
import Glibc

extension WebSocket {
    /// How long a peer may take to close its side after the close frames, in milliseconds: without any progress, and in all. Closing
    /// immediately could reset the connection and lose this side's close frame.
    private static let lingerTime: (idle: UInt64, longest: UInt64) = (5_000, 30_000)

    func peerClosed(_ code: WebSocketCloseCode?, _ reason: String) {
        if state == .open { sendClose(code, "") }
        linger(WebSocketClosure(code ?? .noStatus, reason, isByPeer: true))
    }

    func fail(_ violation: Violation) {
        if state == .open {
            onViolation?(violation.code)
            sendClose(violation.code, violation.reason)
        }
        linger(WebSocketClosure(violation.code, violation.reason))
    }

    /// Input is read and dropped until the peer's end of stream, because a watcher on a socket with unread input would spin.
    private func linger(_ closure: WebSocketClosure) {
        guard state == .open || state == .closing else { return }
        state = .lingering
        unread = []
        dropUnfinished()
        isReadingPaused = false
        lingersUntil = loop.now + Self.lingerTime.longest
        goOnLingering()
        report(closure)
        flush()
    }

    /// The peer has received some of the queued bytes, or sent some.
    func goOnLingering() {
        guard loop.now < lingersUntil else { return }
        resources.deadlines.schedule(self, after: min(Self.lingerTime.idle, lingersUntil - loop.now))
    }

    func discard() {
        let buffer = resources.readBuffer
        // The number of reads is bounded, so that a peer that never stops sending doesn't block the loop.
        for _ in 0..<16 {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { goOnLingering() }
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
        // Pongs of a paused socket aren't read, so the peer's state is unknown.
        if isReadingPaused { return schedulePing() }
        if let pingedAt { return awaitPong(since: loop.now - pingedAt) }
        let silence = loop.now - lastReceived
        if silence >= interval {
            sendControl(9, [])
            pingedAt = loop.now
            resources.deadlines.schedule(self, after: min(settings.quietTimeout ?? .max, settings.pongTimeout))
        } else {
            resources.deadlines.schedule(self, after: interval - silence)
        }
    }

    private func awaitPong(since: UInt64) {
        guard since < settings.pongTimeout else {
            return end(WebSocketClosure(.abnormal, "no answer to a ping"), resets: true)
        }
        var next = settings.pongTimeout
        if !isQuiet, let quiet = settings.quietTimeout {
            if since >= quiet {
                isQuiet = true
                onQuiet?(true)
            } else {
                next = min(next, quiet)
            }
        }
        if state == .open { resources.deadlines.schedule(self, after: next - since) }
    }

    func schedulePing() {
        if let interval = settings.pingInterval { resources.deadlines.schedule(self, after: interval) }
    }

    /// Drops the incomplete message.
    private func dropUnfinished() {
        _ = assembler.takeBuffer()
        if let (budget, sender) = budget { budget.giveBack(accounted, of: sender) }
        accounted = 0
        budget = nil
    }

    private func report(_ closure: WebSocketClosure) {
        let callback = onClose
        onMessage = nil
        onViolation = nil
        onQuiet = nil
        onProgress = nil
        onHandled = nil
        onClose = nil
        callback?(closure)
    }

    func end(_ closure: WebSocketClosure, resets: Bool = false) {
        guard state != .closed else { return }
        state = .closed
        resources.deadlines.cancel(self)
        // Close the watcher before the descriptor, because the descriptor's number may be reused immediately.
        watcher?.close()
        watcher = nil
        continuation?.close()
        continuation = nil
        if resets {
            var option = LingerOption(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<LingerOption>.size))
        }
        Glibc.close(descriptor)
        descriptor = -1
        queue.removeAll()
        unread = []
        if !isParsing { parser = nil }
        dropUnfinished()
        mayFlush = nil
        report(closure)
        let drained = onDrain
        onDrain = nil
        drained?()
        let callback = onEnd
        onEnd = nil
        callback?(self)
        resources.release()
        // Callers up the stack still use self.
        loop.execute { [self] in selfReference = nil }
    }
}

private typealias LingerOption = Glibc.linger

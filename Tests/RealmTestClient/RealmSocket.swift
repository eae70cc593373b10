public import EventLoop
public import RealmMessages
public import WebSocket

/// A WebSocket of a client of the Realm sync protocol. What has come is taken one after the other, by one caller at a time.
public final class RealmSocket: Sendable {
    public enum Arrival: Sendable {
        case message(RealmMessage)
        case end(WebSocketClosure)
        case timeout
    }

    private let socket: WebSocket
    private let arrivals: AsyncStream<Arrival>
    private let input: AsyncStream<Arrival>.Continuation

    /// - Throws: `WebSocketError`, with the status of a refusal.
    public init(
        port: Int, app: String, token: String, offering subprotocols: [String], on loop: EventLoop
    ) async throws {
        let (arrivals, input) = AsyncStream.makeStream(of: Arrival.self)
        self.arrivals = arrivals
        self.input = input
        var configuration = WebSocketConfiguration()
        configuration.allowsCompression = false
        configuration.maxQueuedBytes = 64 << 20
        configuration.maxMessageBytes = 64 << 20
        socket = try await WebSocketClient.connect(
            "ws://127.0.0.1:\(port)/api/client/v2.0/app/\(app)/realm-sync?baas_at=\(token)",
            subprotocols: subprotocols, configuration: configuration, on: loop
        ) { socket in
            socket.onMessage = { _, bytes in input.yield(.message(RealmMessage(Array(bytes)))) }
            socket.onClose = { input.yield(.end($0)) }
        }
    }

    /// The subprotocol that the server has chosen.
    public var subprotocol: String? { socket.subprotocol }

    public func send(_ bytes: [UInt8]) {
        socket.loop.execute { [socket] in socket.send(WebSocketFrame(.binary, bytes)) }
    }

    /// Loses the connection, with what has come and wasn't taken.
    public func cut() { socket.loop.execute { [socket] in socket.terminate() } }

    public func pauseReading() { socket.loop.execute { [socket] in socket.pauseReading() } }

    /// Reads again as soon as the peer has taken all but so much of what was sent. Decided on the loop: tasks may wait longer for their turn
    /// than the peer waits for a sign of life.
    public func resumeReading(whenQueued bytes: Int) {
        socket.loop.execute { [socket] in
            var timer: LoopTimer?
            timer = LoopTimer(socket.loop) {
                if socket.isOpen, socket.queuedBytes >= bytes { return }
                socket.resumeReading()
                timer?.close()
                timer = nil
            }
            timer?.start(ms: 5, every: 5)
        }
    }

    public func close() { socket.loop.execute { [socket] in socket.close() } }

    public func next(within time: Duration) async -> Arrival {
        let timer = Task { [input] in
            try await Task.sleep(for: time)  // the time limit; cancelled by what arrives
            input.yield(.timeout)
        }
        defer { timer.cancel() }
        var iterator = arrivals.makeAsyncIterator()
        return await iterator.next() ?? .timeout
    }
}

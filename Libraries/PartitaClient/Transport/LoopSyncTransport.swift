#if os(Linux)
    import EventLoop
    import WebSocket

    /// Sync connections over this package's WebSocket, on an event loop.
    public struct LoopSyncTransport: SyncTransport {
        private let loop: EventLoop
        private let maxMessageBytes: Int
        private let certificateAuthorityFile: String?

        /// - Parameters:
        ///   - maxMessageBytes: The largest frame that is accepted from the gateway, in bytes.
        ///   - certificateAuthorityFile: certificates to trust instead of the system's.
        public init(loop: EventLoop, maxMessageBytes: Int = 64 << 20, certificateAuthorityFile: String? = nil) {
            self.loop = loop
            self.maxMessageBytes = maxMessageBytes
            self.certificateAuthorityFile = certificateAuthorityFile
        }

        public func connect(_ url: String, subprotocol: String) async throws -> any SyncConnection {
            var configuration = WebSocketConfiguration()
            configuration.maxMessageBytes = maxMessageBytes
            configuration.maxQueuedBytes = maxMessageBytes
            configuration.pingInterval = nil  // the protocol has its own
            let connection = LoopSyncConnection(loop: loop)
            let socket = try await WebSocketClient.connect(
                url, subprotocols: [subprotocol], configuration: configuration,
                certificateAuthorityFile: certificateAuthorityFile, on: loop
            ) { connection.attach($0) }
            guard socket.subprotocol == subprotocol else {
                connection.close()
                throw PartitaError(code: .badResponse, message: "the gateway doesn't speak \(subprotocol)")
            }
            return connection
        }
    }

    /// A WebSocket whose frames are fetched one by one. It reads ahead up to a bound, and then stops reading, so that
    /// TCP applies backpressure.
    final class LoopSyncConnection: SyncConnection {
        private static let readAhead = 4 << 20

        private struct State {
            var socket: WebSocket?
            var frames: [[UInt8]] = []
            var byteCount = 0
            var isPaused = false
            var isClosed = false
            var waiting: CheckedContinuation<[UInt8]?, Never>?
        }

        private let loop: EventLoop
        private let state = Locked(State())

        init(loop: EventLoop) { self.loop = loop }

        /// Runs on the loop.
        func attach(_ socket: WebSocket) {
            let isClosed = state.withLock { state in
                state.socket = socket
                return state.isClosed
            }
            if isClosed { return socket.terminate() }
            socket.onMessage = { [self] _, bytes in received(Array(bytes), socket) }
            socket.onClose = { [self] _ in ended() }
        }

        private func received(_ frame: [UInt8], _ socket: WebSocket) {
            let (waiting, pauses) = state.withLock { state in
                if let waiting = state.waiting {
                    state.waiting = nil
                    return (Optional(waiting), false)
                }
                state.frames.append(frame)
                state.byteCount += frame.count
                let pauses = state.byteCount > Self.readAhead && !state.isPaused
                if pauses { state.isPaused = true }
                return (nil, pauses)
            }
            if pauses { socket.pauseReading() }
            waiting?.resume(returning: frame)
        }

        private func ended() {
            let waiting = state.withLock { state in
                defer { state.waiting = nil }
                state.isClosed = true
                state.socket = nil
                return state.waiting
            }
            waiting?.resume(returning: nil)
        }

        func send(_ text: [UInt8]) {
            guard let socket = state.withLock({ $0.socket }) else { return }
            loop.execute { socket.send(WebSocketFrame(.text, text, isCompressible: text.count > 1024)) }
        }

        func receive() async -> [UInt8]? {
            await withCheckedContinuation { continuation in
                let (frame, isDone, resumed) = state.withLock { state in
                    guard !state.frames.isEmpty else {
                        if !state.isClosed { state.waiting = continuation }
                        return ([UInt8]?.none, state.isClosed, WebSocket?.none)
                    }
                    let frame = state.frames.removeFirst()
                    state.byteCount -= frame.count
                    let resumes = state.isPaused && state.byteCount < Self.readAhead / 2
                    if resumes { state.isPaused = false }
                    return (frame, true, resumes ? state.socket : nil)
                }
                if let resumed { loop.execute { resumed.resumeReading() } }
                if isDone { continuation.resume(returning: frame) }
            }
        }

        func close() {
            let socket = state.withLock { $0.socket }
            ended()
            if let socket { loop.execute { socket.close() } }
        }
    }
#endif

import Glibc

/// The bytes of a streamed body between their producer and libmicrohttpd.
///
/// `@unchecked Sendable`: used only on its listener's loop.
final class ResponseStream: @unchecked Sendable {
    private enum End { case complete, failed }

    /// The result for libmicrohttpd's reader.
    enum Read: Equatable {
        case bytes(Int)
        case nothingYet
        case complete
        case failed
    }

    /// The number of queued bytes from which on a producer waits.
    private static let window = 256 << 10

    let exchange: HTTPExchange
    private let produce: @Sendable (HTTPBodyWriter) async throws -> Void
    private var chunks: [[UInt8]] = []
    private var head = 0
    private var offset = 0
    private var queued = 0
    private var end: End?
    private var waiters: [CheckedContinuation<Void, Never>] = []
    private var task: Task<Void, Never>?
    private var isStarted = false

    init(_ exchange: HTTPExchange, _ produce: @escaping @Sendable (HTTPBodyWriter) async throws -> Void) {
        self.exchange = exchange
        self.produce = produce
    }

    var isFull: Bool { queued >= Self.window && end == nil }
    /// Whether no more bytes can be written.
    var isClosed: Bool { end != nil }

    /// Starts the producer when the first bytes are requested.
    func startIfNeeded(_ listener: HTTPListener) {
        guard !isStarted, end == nil else { return }
        isStarted = true
        task = Task(executorPreference: listener.loop.taskExecutor) { [self, produce] in
            do {
                try await produce(HTTPBodyWriter(listener: listener, stream: self))
                await listener.finish(self, failed: false)
            } catch {
                await listener.finish(self, failed: true)
            }
        }
    }

    func append(_ bytes: [UInt8]) {
        guard end == nil, !bytes.isEmpty else { return }
        chunks.append(bytes)
        queued += bytes.count
    }

    func close(failed: Bool) {
        if end == nil { end = failed ? .failed : .complete }
        resumeWaiters()
    }

    /// Discards the stream, because the connection is lost.
    func abandon() {
        end = .failed
        chunks = []
        head = 0
        offset = 0
        queued = 0
        task?.cancel()
        task = nil
        resumeWaiters()
    }

    /// Resumes the producer when there is space, or when no more bytes can be written.
    func wait(_ continuation: CheckedContinuation<Void, Never>) {
        if isFull { waiters.append(continuation) } else { continuation.resume() }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Read {
        var count = 0
        while count < buffer.count, head < chunks.count {
            let taken = min(chunks[head].count - offset, buffer.count - count)
            chunks[head].withUnsafeBytes { bytes in
                UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + taken)]))
            }
            count += taken
            offset += taken
            if offset == chunks[head].count {
                head += 1
                offset = 0
            }
        }
        if head == chunks.count {
            chunks.removeAll(keepingCapacity: true)
            head = 0
        }
        queued -= count
        if count > 0 {
            if !isFull { resumeWaiters() }
            return .bytes(count)
        }
        switch end {
        case .complete: return .complete
        case .failed: return .failed
        case nil: return .nothingYet
        }
    }

    private func resumeWaiters() {
        let resumed = waiters
        waiters = []
        for waiter in resumed { waiter.resume() }
    }
}

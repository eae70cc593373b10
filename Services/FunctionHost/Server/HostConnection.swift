import DocumentModel
import FunctionProtocol
import Glibc

/// The socket to the parent, with blocking calls, since this process has nothing else to do.
final class HostConnection {
    enum Event {
        case request(HostRequest)
        case timeout
        case closed
    }

    private let descriptor: Int32
    private var frames = FrameBuffer()
    /// Requests that arrived during `answer(to:)`.
    private var early: [HostRequest] = []

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Waits for the next request, at most until `deadline`.
    func next(until deadline: ContinuousClock.Instant?) throws -> Event {
        if !early.isEmpty { return .request(early.removeFirst()) }
        while true {
            if let document = try frames.next() { return .request(try HostRequest(document)) }
            var descriptors = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&descriptors, 1, Self.milliseconds(until: deadline))
            if ready == 0 { return .timeout }
            if ready < 0 {
                if errno == EINTR { continue }
                throw FunctionProtocolError(message: "poll: \(String(cString: strerror(errno)))")
            }
            guard try readSome() else { return .closed }
        }
    }

    /// Waits for the answer to an effect in the middle of a script's step.
    func answer(to ordinal: Int64) throws -> Result<Value, EffectFailure> {
        while true {
            while let document = try frames.next() {
                let request = try HostRequest(document)
                if case .answer(ordinal, let result) = request { return result }
                early.append(request)
            }
            guard try readSome() else { throw FunctionProtocolError(message: "the parent closed the socket") }
        }
    }

    func send(_ reply: HostReply) throws {
        let frame = FrameBuffer.encode(reply.document)
        var sent = 0
        while sent < frame.count {
            let count = frame[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FunctionProtocolError(message: "send: \(String(cString: strerror(errno)))") }
            sent += count
        }
    }

    private func readSome() throws -> Bool {
        try withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 8) { buffer in
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            if count < 0, errno == EINTR { return true }
            guard count >= 0 else { throw FunctionProtocolError(message: "read: \(String(cString: strerror(errno)))") }
            frames.append(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
            return count > 0
        }
    }

    private static func milliseconds(until deadline: ContinuousClock.Instant?) -> Int32 {
        guard let deadline else { return -1 }
        let left = deadline - ContinuousClock.now
        let (seconds, attoseconds) = left.components
        return Int32(clamping: max(0, seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }
}

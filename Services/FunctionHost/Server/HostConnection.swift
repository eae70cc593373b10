import DocumentModel
import FunctionProtocol
import Glibc

/// The socket to the parent. Its calls block, since this process has nothing else to do while no run can go on.
final class HostConnection {
    private let descriptor: Int32
    private var frames = FrameBuffer()
    /// Requests that arrived during `answer(to:of:)`.
    private var early: [HostRequest] = []

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Reads what has arrived.
    /// - Parameter deadline: how long to wait if nothing has; `nil` without a limit.
    /// - Returns: false when the parent has closed the socket.
    func receive(until deadline: ContinuousClock.Instant?) throws -> Bool {
        guard early.isEmpty else { return true }
        let milliseconds = Self.milliseconds(until: deadline)
        if milliseconds != 0 {
            var descriptors = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&descriptors, 1, milliseconds)
            if ready == 0 || ready < 0 && errno == EINTR { return true }
            guard ready > 0 else { throw FunctionProtocolError(message: "poll: \(String(cString: strerror(errno)))") }
        }
        return try readSome(Int32(MSG_DONTWAIT))
    }

    /// The next request that has arrived whole.
    func next() throws -> HostRequest? {
        if !early.isEmpty { return early.removeFirst() }
        return try frames.next().map { try HostRequest($0) }
    }

    /// Waits for the answer to an effect in the middle of a script's step.
    /// - Throws: `FunctionProtocolError`, also when the parent ends the call.
    func answer(to ordinal: Int64, of call: Int64) throws -> Result<Value, EffectFailure> {
        while true {
            while let document = try frames.next() {
                let request = try HostRequest(document)
                if case .answer(call, ordinal, let result) = request { return result }
                early.append(request)
                if case .end(call) = request { throw FunctionProtocolError(message: "the call was ended") }
            }
            guard try readSome(0) else { throw FunctionProtocolError(message: "the parent closed the socket") }
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

    private func readSome(_ flags: Int32) throws -> Bool {
        try withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 8) { buffer in
            let count = recv(descriptor, buffer.baseAddress, buffer.count, flags)
            if count < 0, errno == EINTR || errno == EAGAIN { return true }
            guard count >= 0 else { throw FunctionProtocolError(message: "recv: \(String(cString: strerror(errno)))") }
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

import Glibc
import TLS

/// The frames that the kernel hasn't accepted yet; writes them to the kernel.
struct OutgoingQueue {
    /// The result of a write.
    enum Outcome: Equatable {
        /// The kernel has accepted all bytes.
        case drained
        /// The kernel currently accepts no more bytes.
        case blocked
        /// The connection is broken, with this errno.
        case failed(Int32)
    }

    private static let piecesPerCall = 64
    private var frames: [EncodedFrame] = []
    private var head = 0
    private var headOffset = 0
    /// The number of bytes that the kernel hasn't accepted.
    private(set) var bytes = 0

    var isEmpty: Bool { bytes == 0 }

    mutating func append(_ frame: EncodedFrame) {
        frames.append(frame)
        bytes += frame.count
    }

    mutating func removeAll() { self = OutgoingQueue() }

    /// Writes until the queue is empty or the kernel accepts no more.
    mutating func write(to descriptor: Int32, through tls: TLSChannel?) -> Outcome {
        while head < frames.count {
            let sent = sendSome(to: descriptor, tls)
            if sent >= 0 {
                consume(sent)
            } else if errno == EAGAIN {
                compact()
                return .blocked
            } else if errno != EINTR {
                return .failed(errno)
            }
        }
        // All bytes are encrypted, but the kernel may not have accepted all of them.
        if let tls, !tls.flush(to: descriptor) { return errno == EAGAIN ? .blocked : .failed(errno) }
        return .drained
    }

    private func sendSome(to descriptor: Int32, _ tls: TLSChannel?) -> Int {
        let count = min(frames.count - head, Self.piecesPerCall)
        return withUnsafeTemporaryAllocation(of: iovec.self, capacity: count) { pieces in
            for index in 0..<count {
                // The queue keeps the frame, so its bytes outlive the call.
                let bytes = frames[head + index].bytes, skip = index == 0 ? headOffset : 0
                let piece = iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { $0 + skip }),
                    iov_len: bytes.count - skip)
                pieces.initializeElement(at: index, to: piece)
            }
            if let tls { return tls.send(pieces, to: descriptor) }
            var message = msghdr()
            message.msg_iov = pieces.baseAddress
            message.msg_iovlen = count
            return sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
        }
    }

    private mutating func consume(_ sent: Int) {
        bytes -= sent
        var left = sent
        while left > 0 {
            let rest = frames[head].count - headOffset
            guard left >= rest else {
                headOffset += left
                return
            }
            left -= rest
            head += 1
            headOffset = 0
        }
        if head == frames.count {
            frames.removeAll(keepingCapacity: frames.count <= 16)
            head = 0
        }
    }

    /// Releases sent frames, even if the queue never becomes empty.
    private mutating func compact() {
        guard head >= 64, head * 2 >= frames.count else { return }
        frames.removeFirst(head)
        head = 0
    }
}

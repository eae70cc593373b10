import Glibc
import TLS

/// Frames that the kernel hasn't taken yet, and how they are handed to it.
struct OutgoingQueue {
    /// What ended a write.
    enum Outcome: Equatable {
        /// Everything is with the kernel.
        case drained
        /// The kernel takes no more at present.
        case blocked
        /// The connection is broken; the errno.
        case failed(Int32)
    }

    private static let piecesPerCall = 64
    private var frames: [EncodedFrame] = []
    private var head = 0
    private var headOffset = 0
    /// Bytes that the kernel hasn't taken.
    private(set) var bytes = 0

    var isEmpty: Bool { bytes == 0 }

    mutating func append(_ frame: EncodedFrame) {
        frames.append(frame)
        bytes += frame.count
    }

    mutating func removeAll() { self = OutgoingQueue() }

    /// Writes until all is taken or the kernel takes no more.
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
        // Encrypted, but perhaps not with the kernel.
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

    /// Frames that are sent are given up even while the queue never empties.
    private mutating func compact() {
        guard head >= 64, head * 2 >= frames.count else { return }
        frames.removeFirst(head)
        head = 0
    }
}

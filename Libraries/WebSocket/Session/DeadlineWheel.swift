import EventLoop

/// The deadlines of many sockets, with a single timer. Loop only.
///
/// A socket is in at most one bucket; moving a deadline is a swap-remove and an append. Deadlines fire up to one slot late.
final class DeadlineWheel {
    /// Milliseconds in one slot.
    private static let slot: UInt64 = 50

    final class Bucket {
        let index: UInt64
        var sockets: [WebSocket] = []
        init(_ index: UInt64) { self.index = index }
    }

    private unowned let loop: EventLoop
    private var buckets: [UInt64: Bucket] = [:]
    private var timer: LoopTimer?
    private var armedFor = UInt64.max

    init(_ loop: EventLoop) { self.loop = loop }

    /// Calls `deadlinePassed()` of the socket `delay` milliseconds from now, instead of at its earlier deadline.
    func schedule(_ socket: WebSocket, after delay: UInt64) {
        let index = (loop.now + delay) / Self.slot + 1
        if let bucket = socket.deadline.bucket, bucket.index == index { return }
        cancel(socket)
        let bucket = bucket(at: index)
        socket.deadline = (bucket, bucket.sockets.count)
        bucket.sockets.append(socket)
        arm(for: index)
    }

    /// Removes the socket's deadline.
    func cancel(_ socket: WebSocket) {
        guard let bucket = socket.deadline.bucket else { return }
        let position = socket.deadline.position
        socket.deadline = (nil, 0)
        let last = bucket.sockets.removeLast()
        if last !== socket {
            bucket.sockets[position] = last
            last.deadline.position = position
        }
        guard bucket.sockets.isEmpty else { return }
        buckets[bucket.index] = nil
        if buckets.isEmpty { disarm() }
    }

    private func bucket(at index: UInt64) -> Bucket {
        if let bucket = buckets[index] { return bucket }
        let bucket = Bucket(index)
        buckets[index] = bucket
        return bucket
    }

    private func arm(for index: UInt64) {
        guard index < armedFor else { return }
        armedFor = index
        if timer == nil { timer = LoopTimer(loop) { [unowned self] in fire() } }
        let due = index * Self.slot, now = loop.now
        timer?.start(ms: due > now ? due - now : 0)
    }

    /// Closes the timer, so that no handle stays open on the loop without a socket that needs it.
    private func disarm() {
        timer?.close()
        timer = nil
        armedFor = .max
    }

    private func fire() {
        armedFor = .max
        let present = loop.now / Self.slot
        for index in buckets.keys.sorted() where index <= present {
            guard let bucket = buckets.removeValue(forKey: index) else { continue }
            let due = bucket.sockets
            bucket.sockets = []
            for socket in due { socket.deadline = (nil, 0) }
            for socket in due { socket.deadlinePassed() }
        }
        if let next = buckets.keys.min() { arm(for: next) } else { disarm() }
    }
}

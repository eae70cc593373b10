import DocumentModel
import EventLoop
import WebSocket

/// The reads for the partitions of one connection, which starts them as ``ChunkReads`` allows.
///
/// Confined to the loop of the socket.
final class SocketReads {
    private let socket: WebSocket
    private var reads: ChunkReads
    private var timer: LoopTimer?

    /// The pause before a read that the budget refused is tried again, in milliseconds.
    private static let pause: UInt64 = 100

    init(_ socket: WebSocket, window: Int, budget: InflightBudget) {
        self.socket = socket
        reads = ChunkReads(window: window, budget: budget)
    }

    /// The user to whom the bytes are charged.
    var receiver: UInt64 {
        get { reads.receiver }
        set { reads.receiver = newValue }
    }

    /// Starts a read for a partition: at once, or when fewer are in flight and the socket's queue is shorter. The caller reports
    /// its end with ``ended()``.
    func add(_ partition: Partition, _ start: @escaping () -> Void) {
        reads.add(partition, start)
        resume()
    }

    /// A read has ended, and what it found is in the socket's queue.
    func ended() {
        reads.end(queued: socket.isOpen ? socket.queuedBytes : 0)
        resume()
    }

    /// Forgets the waiting reads of a partition that was closed.
    func remove(_ partition: Partition) { reads.remove(partition) }

    /// Starts what may be started now, such as when the socket's queue is empty.
    func resume() {
        while socket.isOpen, let step = reads.next(queued: socket.queuedBytes) {
            guard case .start(let start) = step else {
                let timer = timer ?? LoopTimer(socket.loop) { [self] in resume() }
                self.timer = timer
                return timer.start(ms: Self.pause)
            }
            start()
        }
    }

    /// The connection has ended.
    func close() {
        reads.close()
        timer?.close()
        timer = nil
    }
}

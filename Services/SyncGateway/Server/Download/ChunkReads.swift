import DocumentModel

/// The reads for a device's catch-ups: each may return as much as the largest document, so only a few are in flight at once, and none is
/// started while the socket's queue exceeds the window.
struct ChunkReads {
    /// The most reads in flight.
    static let limit = 4

    private let window: Int
    private var waiting: [(partition: Partition, start: () -> Void)] = []
    private var inFlight = 0

    /// - Parameter window: The bytes in the socket's queue up to which a read is started.
    init(window: Int) { self.window = window }

    mutating func add(_ partition: Partition, _ start: @escaping () -> Void) { waiting.append((partition, start)) }

    /// Forgets the waiting reads of a partition that was closed.
    mutating func remove(_ partition: Partition) { waiting.removeAll { $0.partition == partition } }

    mutating func end() { inFlight -= 1 }

    mutating func removeAll() { waiting = [] }

    /// The next read to start, which then is in flight.
    mutating func next(queued: Int) -> (() -> Void)? {
        guard inFlight < Self.limit, queued <= window, !waiting.isEmpty else { return nil }
        inFlight += 1
        return waiting.removeFirst().start
    }
}

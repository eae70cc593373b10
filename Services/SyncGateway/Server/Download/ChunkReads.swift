import DocumentModel
import EventLoop

/// The reads for a device's catch-ups: each may return as much as the largest document, so only a few are in flight at once, and none is
/// started while the socket's queue exceeds the window. What is being read, and what waits in the socket, is charged to the budget that
/// all connections share: devices that receive slowly don't fill the gateway's memory.
package struct ChunkReads {
    /// What the session has to do next.
    package enum Step {
        /// Start this read, which then is in flight.
        case start(() -> Void)
        /// Ask again after a pause: the budget is exhausted, or the device's user has their share of it.
        case wait
    }

    /// The most reads in flight.
    package static let limit = 4
    /// What a read is taken to return until it has, in bytes.
    package static let reserve = 1 << 20

    /// The user to whom the bytes are charged.
    package var receiver: UInt64 = 0

    private let window: Int
    private let budget: InflightBudget
    private var waiting: [(partition: Partition, start: () -> Void)] = []
    private var inFlight = 0
    private var charged = 0

    /// - Parameters:
    ///   - window: The bytes in the socket's queue up to which a read is started.
    ///   - budget: What all connections may have read and not sent.
    package init(window: Int, budget: InflightBudget) {
        self.window = window
        self.budget = budget
    }

    package mutating func add(_ partition: Partition, _ start: @escaping () -> Void) {
        waiting.append((partition, start))
    }

    /// Forgets the waiting reads of a partition that was closed.
    package mutating func remove(_ partition: Partition) { waiting.removeAll { $0.partition == partition } }

    /// The next step; `nil` when there is nothing to do before a read ends or the socket's queue is empty.
    ///
    /// - Parameter queued: The bytes in the socket's queue.
    package mutating func next(queued: Int) -> Step? {
        charge(queued)
        guard inFlight < Self.limit, queued <= window, !waiting.isEmpty else { return nil }
        guard budget.take(Self.reserve, of: receiver) == nil else { return .wait }
        charged += Self.reserve
        inFlight += 1
        return .start(waiting.removeFirst().start)
    }

    /// A read has ended, and what it found is in the socket's queue.
    package mutating func end(queued: Int) {
        inFlight -= 1
        charge(queued)
    }

    /// The connection has ended: nothing is queued any more.
    package mutating func close() {
        waiting = []
        charge(0)
    }

    /// The documents that were read are in memory, whatever the budget says.
    private mutating func charge(_ queued: Int) {
        let charge = inFlight * Self.reserve + max(0, queued - InflightBudget.uncounted)
        if charge > charged { budget.add(charge - charged, of: receiver) }
        if charge < charged { budget.giveBack(charged - charge, of: receiver) }
        charged = charge
    }
}

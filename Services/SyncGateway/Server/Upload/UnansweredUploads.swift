import EventLoop

/// The uploads of one connection that aren't answered yet, in bytes of memory: what a device sends faster than it is committed. Beyond its limit the
/// connection isn't read, and what exceeds a small part of it is charged to the budget that all connections share.
struct UnansweredUploads {
    /// The bytes beyond which the connection isn't read. One more frame may follow them.
    static let limit = 4 << 20

    /// The user to whom the bytes are charged.
    var sender: UInt64 = 0

    private let budget: InflightBudget
    private var bytes = 0
    private var charged = 0

    init(budget: InflightBudget) { self.budget = budget }

    var isFull: Bool { bytes > Self.limit }

    /// - Returns: `false` if the budget is exhausted; then nothing is added.
    mutating func add(_ size: Int) -> Bool {
        let charge = max(0, bytes + size - InflightBudget.uncounted)
        if charge > charged {
            guard budget.take(charge - charged, of: sender) == nil else { return false }
            charged = charge
        }
        bytes += size
        return true
    }

    mutating func remove(_ size: Int) {
        bytes -= size
        let charge = max(0, bytes - InflightBudget.uncounted)
        guard charge < charged else { return }
        budget.giveBack(charged - charge, of: sender)
        charged = charge
    }
}

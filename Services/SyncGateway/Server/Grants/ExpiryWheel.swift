import DocumentModel
import EventLoop

/// Calls the subscriptions of a loop when their grants have to be renewed. All of them share one timer, which runs only while there
/// are some.
/// Confined to the loop.
final class ExpiryWheel {
    /// Milliseconds in one slot.
    private static let slot: Int64 = 250

    private let loop: EventLoop
    private var slots: [Int64: [PartitionSubscription]] = [:]
    private var timer: LoopTimer?

    init(_ loop: EventLoop) { self.loop = loop }

    /// Calls the subscription at a time, late by up to one slot. Calls can't be cancelled: the subscription checks whether there is
    /// something to do.
    ///
    /// - Parameter time: milliseconds since 1970.
    func schedule(_ subscription: PartitionSubscription, at time: Int64) {
        loop.assertInLoop()
        slots[time / Self.slot + 1, default: []].append(subscription)
        guard timer == nil else { return }
        timer = LoopTimer(loop) { [unowned self] in fire() }
        timer?.start(ms: UInt64(Self.slot), every: UInt64(Self.slot))
    }

    private func fire() {
        var asked: Set<ExactText> = []
        for slot in slots.keys.sorted() {
            guard let first = slots[slot]?.first, slot * Self.slot <= first.wallTime else { break }
            for subscription in slots.removeValue(forKey: slot) ?? [] { subscription.renewalDue(asked: &asked) }
        }
        guard slots.isEmpty else { return }
        timer?.close()
        timer = nil
    }
}

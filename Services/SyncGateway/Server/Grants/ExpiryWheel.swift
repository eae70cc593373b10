import DocumentModel
import EventLoop

/// Has the grants of a loop's partitions renewed before they expire. All of them share one timer, which runs only while there are
/// some, and follows the wall clock: what a step of the clock has made expire is noticed at once. Confined to the loop.
final class ExpiryWheel {
    /// Milliseconds in one slot.
    private static let slot: Int64 = 250
    /// How long before its expiry a grant is requested again, and the interval of the requests without an answer, in milliseconds.
    private static let lead: Int64 = 2000

    private let loop: EventLoop
    private var slots: [Int64: [any GrantHolder]] = [:]
    private var timer: LoopTimer?

    init(_ loop: EventLoop) { self.loop = loop }

    /// Asks for the holder's grant again before it expires, and tells the holder when it does, late by up to one slot. That can't
    /// be cancelled: a grant that doesn't expire any more when the time comes is left alone.
    ///
    /// - Parameter expiry: milliseconds since 1970.
    func renew(_ holder: any GrantHolder, before expiry: Int64) { schedule(holder, at: expiry - Self.lead) }

    private func schedule(_ holder: any GrantHolder, at time: Int64) {
        loop.assertInLoop()
        slots[time / Self.slot + 1, default: []].append(holder)
        guard timer == nil else { return }
        timer = LoopTimer(loop) { [unowned self] in fire() }
        timer?.start(ms: UInt64(Self.slot), every: UInt64(Self.slot))
    }

    private func fire() {
        var asked: Set<ExactText> = []
        for slot in slots.keys.sorted() {
            guard let first = slots[slot]?.first, slot * Self.slot <= first.wallTime else { break }
            for holder in slots.removeValue(forKey: slot) ?? [] { renew(holder, asked: &asked) }
        }
        guard slots.isEmpty else { return }
        timer?.close()
        timer = nil
    }

    /// A grant expires soon, or has expired: requests it again, and without an answer once more later.
    ///
    /// - Parameter asked: Those that were already requested in this round.
    private func renew(_ holder: any GrantHolder, asked: inout Set<ExactText>) {
        let now = holder.wallTime
        guard let grant = holder.heldGrant, grant.isRenewalDue(lead: Self.lead, now: now),
            let next = grant.nextRenewal(lead: Self.lead, now: now)
        else { return }
        holder.rightsChanged()
        schedule(holder, at: next)
        if asked.insert(holder.grantKey).inserted { holder.askForGrant() }
    }
}

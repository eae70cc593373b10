import EventLoop
import Testing

struct TimeBudgetTests {
    @Test func `what is spent beyond the allowance has to be waited for, at the share that a sender may take`() {
        let budget = TimeBudget(share: 0.25, allowance: .seconds(1)), start = ContinuousClock.now
        #expect(budget.charge(.milliseconds(900), of: 1, now: start) == nil)
        #expect(budget.charge(.milliseconds(600), of: 1, now: start) == .seconds(2))
        // Others have allowances of their own.
        #expect(budget.charge(.milliseconds(900), of: 2, now: start) == nil)
        #expect(budget.charge(.zero, of: 1, now: start + .seconds(1)) == .seconds(1))
        #expect(budget.charge(.zero, of: 1, now: start + .seconds(2)) == nil)
        #expect(budget.charge(.milliseconds(100), of: 1, now: start + .seconds(2)) == .milliseconds(400))
        // Time that wasn't used isn't saved beyond the allowance.
        #expect(budget.charge(.milliseconds(1200), of: 1, now: start + .seconds(1000)) == .milliseconds(800))
    }

    @Test func `senders who spend nothing are forgotten, and others aren't`() {
        let budget = TimeBudget(share: 0.5, allowance: .seconds(1)), start = ContinuousClock.now
        #expect(budget.charge(.seconds(100), of: 1, now: start) != nil)
        for sender in 2..<10_000 as Range<UInt64> {
            _ = budget.charge(.milliseconds(1), of: sender, now: start + .seconds(1))
        }
        #expect(budget.charge(.zero, of: 1, now: start + .seconds(2)) == .seconds(196))
    }

    @Test func `a crowd of senders takes no more together, and disturbs nobody who spends little`() {
        let budget = TimeBudget(share: 0.25, total: 0.5, allowance: .seconds(1))
        var now = ContinuousClock.now
        let start = now
        /// When each may go on, and what all have spent.
        var waits = [ContinuousClock.Instant](repeating: now, count: 40), spent = Duration.zero
        var lateSpent = Duration.zero
        while now - start < .seconds(60) {
            for sender in waits.indices where waits[sender] <= now {
                if let wait = budget.charge(.milliseconds(5), of: UInt64(sender), now: now) {
                    waits[sender] = now + wait
                }
                spent += .milliseconds(5)
                if now - start > .seconds(30) { lateSpent += .milliseconds(5) }
                now += .milliseconds(5)
            }
            #expect(budget.charge(.microseconds(100), of: 1000, now: now) == nil)
            now += .milliseconds(10)
        }
        #expect(lateSpent < .seconds(18), "half of the time, with what they spend before they are found: \(lateSpent)")
        #expect(lateSpent > .seconds(8), "\(lateSpent)")
        #expect(spent < .seconds(38), "\(spent)")
        // When they have stopped, each has an allowance again.
        #expect(budget.charge(.milliseconds(900), of: 1, now: now + .seconds(120)) == nil)
    }

    @Test func `what a sender owes gets less with time`() {
        let budget = TimeBudget(share: 0.5, allowance: .seconds(1)), start = ContinuousClock.now
        #expect(budget.debt(of: 1, now: start) == .zero)
        _ = budget.charge(.milliseconds(900), of: 1, now: start)
        #expect(budget.debt(of: 1, now: start + .seconds(1)) == .milliseconds(400))
        #expect(budget.debt(of: 1, now: start + .seconds(10)) == .zero)
        #expect(budget.debt(of: 2, now: start) == .zero)
    }
}

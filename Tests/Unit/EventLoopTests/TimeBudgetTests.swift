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

    @Test func `what a sender owes gets less with time`() {
        let budget = TimeBudget(share: 0.5, allowance: .seconds(1)), start = ContinuousClock.now
        #expect(budget.debt(of: 1, now: start) == .zero)
        _ = budget.charge(.milliseconds(900), of: 1, now: start)
        #expect(budget.debt(of: 1, now: start + .seconds(1)) == .milliseconds(400))
        #expect(budget.debt(of: 1, now: start + .seconds(10)) == .zero)
        #expect(budget.debt(of: 2, now: start) == .zero)
    }
}

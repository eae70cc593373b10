import Testing

@testable import TriggerWorkers

/// How long ordered triggers wait between attempts.
struct RetryWaitsTests {
    @Test func `a trigger that always throws waits for a fifth of the time, and others as long as they need`() {
        let waits = RetryWaits()
        let start = ContinuousClock.now
        var (now, waited, events) = (start, Duration.zero, 0)
        while now < start + .seconds(100) {
            for wait in [Duration.milliseconds(250), .milliseconds(500)] {
                let taken = waits.take(wait, of: "busy", app: "a", now: now)
                #expect(taken == wait || taken == .zero)
                waited += taken
                now += taken
            }
            events += 1
            now += .milliseconds(10)
        }
        #expect(waited > .seconds(20) && waited < .seconds(32), "\(waited)")
        #expect(events > 5000)
        #expect(waits.take(.milliseconds(250), of: "busy", app: "b", now: now) == .milliseconds(250))
        #expect(waits.take(.seconds(10), of: "busy", app: "a", now: now + .seconds(60)) == .seconds(10))
    }
}

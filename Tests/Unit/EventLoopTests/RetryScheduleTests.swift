import EventLoop
import Testing

@Suite struct RetryScheduleTests {
    private let schedule = RetrySchedule(first: .milliseconds(100), limit: .seconds(1))

    @Test(arguments: [(0, 100), (1, 100), (2, 200), (4, 800), (5, 1000), (1_000_000, 1000)])
    func `waits double up to the limit, with a random half off`(_ failures: Int, _ longest: Int) {
        let delays = (0..<50).map { _ in schedule.delay(after: failures) }
        #expect(delays.allSatisfy { $0 >= .milliseconds(longest) / 2 && $0 <= .milliseconds(longest) })
        #expect(Set(delays).count > 1)
    }

    @Test func `a success resets the waits`() {
        var backoff = RetryBackoff(schedule)
        let waits = (0..<5).map { _ in backoff.next() }
        #expect(waits[4] >= .milliseconds(500))
        backoff.reset()
        #expect(backoff.next() <= .milliseconds(100))
    }
}

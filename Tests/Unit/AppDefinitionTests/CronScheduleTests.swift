import AppDefinition
import Foundation
import Testing

@Suite struct CronScheduleTests {
    private static func milliseconds(_ text: String) throws -> Int64 {
        Int64(try Date(text, strategy: .iso8601).timeIntervalSince1970) * 1000
    }

    @Test(arguments: [
        ("* * * * *", "2026-11-21T10:20:30Z", "2026-11-21T10:21:00Z"),
        ("*/15 * * * *", "2026-11-21T10:45:00Z", "2026-11-21T11:00:00Z"),
        ("0 3 * * *", "2026-12-31T03:00:00Z", "2027-01-01T03:00:00Z"),
        ("30 9-17/4 * * mon-fri", "2026-11-21T10:00:00Z", "2026-11-23T09:30:00Z"),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("0 0 1 jan,jul *", "2026-11-21T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("0 0 13 * 5", "2026-11-21T00:00:00Z", "2026-11-27T00:00:00Z"),
        ("0 0 * * 7", "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"),
        ("5,35 8 * * *", "2026-11-21T08:05:00Z", "2026-11-21T08:35:00Z"),
        ("0 0 1 1 *", "1969-06-01T00:00:00Z", "1970-01-01T00:00:00Z"),
        ("0 0 29 2 *", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"),
    ])
    func `the next scheduled time is the first one after`(expression: String, from: String, to: String) throws {
        let schedule = try #require(CronSchedule(expression))
        let (from, to) = (try Self.milliseconds(from), try Self.milliseconds(to))
        #expect(schedule.next(after: from) == to)
        // The last millisecond before it, and the time itself, which isn't after itself.
        #expect(schedule.next(after: to - 1) == to)
        #expect(try #require(schedule.next(after: to)) >= to + 60_000)
    }

    @Test(arguments: [
        "", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "a * * * *", "*/0 * * * *", "5-1 * * * *",
        "0 0 30 2 *", "* * * * * *",
    ])
    func `an invalid schedule, or one that never occurs, is refused`(expression: String) {
        #expect(CronSchedule(expression) == nil)
    }
}

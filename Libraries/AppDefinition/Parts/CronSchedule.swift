/// A five-field cron expression (minute, hour, day of month, month, day of week) in UTC.
///
/// Fields take `*`, numbers, ranges, lists and steps, and for months and weekdays also their English three-letter names; Sunday is
/// 0 or 7. When both day fields are restricted, a day matches if either of them does, as in other cron implementations.
public struct CronSchedule: Hashable, Sendable, CustomStringConvertible {
    /// The expression as it was written.
    public let description: String
    private let minutes: Set<Int>
    private let hours: Set<Int>
    private let days: Set<Int>
    private let months: Set<Int>
    private let weekdays: Set<Int>
    private let matchesEitherDay: Bool

    /// Parses an expression; `nil` when it is malformed, or matches no date (`0 0 31 2 *`).
    public init?(_ text: String) {
        let fields = text.split(whereSeparator: \.isWhitespace)
        guard fields.count == 5,
            let minutes = Self.field(fields[0], 0...59), let hours = Self.field(fields[1], 0...23),
            let days = Self.field(fields[2], 1...31), let months = Self.field(fields[3], 1...12, Self.monthNames),
            let weekdays = Self.field(fields[4], 0...7, Self.weekdayNames)
        else { return nil }
        description = text
        self.minutes = minutes
        self.hours = hours
        self.days = days
        self.months = months
        self.weekdays = Set(weekdays.map { $0 % 7 })
        matchesEitherDay = fields[2] != "*" && fields[4] != "*"
        guard next(after: 0) != nil else { return nil }
    }

    /// The first scheduled time after the given time, both in milliseconds since 1970-01-01T00:00:00Z, as all times of the system.
    public func next(after time: Int64) -> Int64? {
        let start = (Self.floorDivide(time, 60_000) + 1) * 60
        var day = Self.floorDivide(start, 86_400)
        var earliest = Int(start - day * 86_400)
        // A leap day is at most eight years away.
        for _ in 0..<(366 * 9) {
            if matches(day: day), let second = firstSecond(from: earliest) {
                return (day * 86_400 + Int64(second)) * 1000
            }
            day += 1
            earliest = 0
        }
        return nil
    }

    private func firstSecond(from earliest: Int) -> Int? {
        for hour in hours.sorted() where hour >= earliest / 3600 {
            for minute in minutes.sorted() where hour * 3600 + minute * 60 >= earliest {
                return hour * 3600 + minute * 60
            }
        }
        return nil
    }

    private func matches(day: Int64) -> Bool {
        let date = Self.civil(day)
        guard months.contains(date.month) else { return false }
        let byDate = days.contains(date.day)
        let byWeekday = weekdays.contains(Int((day % 7 + 11) % 7))  // 1970-01-01 was a Thursday
        return matchesEitherDay ? byDate || byWeekday : byDate && byWeekday
    }

    private static let monthNames = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
    private static let weekdayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

    private static func field(_ text: Substring, _ range: ClosedRange<Int>, _ names: [String] = []) -> Set<Int>? {
        func number(_ text: Substring) -> Int? {
            if let index = names.firstIndex(of: text.lowercased()) { return range.lowerBound + index }
            guard let value = Int(text), range.contains(value) else { return nil }
            return value
        }
        var result: Set<Int> = []
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            let stepped = item.split(separator: "/", omittingEmptySubsequences: false)
            guard stepped.count <= 2, let base = stepped.first else { return nil }
            guard let step = stepped.count == 2 ? Int(stepped[1]) : 1, step > 0 else { return nil }
            let bounds: ClosedRange<Int>
            if base == "*" {
                bounds = range
            } else {
                let ends = base.split(separator: "-", omittingEmptySubsequences: false)
                guard ends.count <= 2, let low = number(ends[0]) else { return nil }
                guard let high = ends.count == 2 ? number(ends[1]) : (stepped.count == 2 ? range.upperBound : low),
                    low <= high
                else { return nil }
                bounds = low...high
            }
            result.formUnion(stride(from: bounds.lowerBound, through: bounds.upperBound, by: step))
        }
        return result
    }

    private static func floorDivide(_ a: Int64, _ b: Int64) -> Int64 { a >= 0 ? a / b : -((-a + b - 1) / b) }

    /// The Gregorian month and day of a day number since 1970 (Howard Hinnant's days_from_civil, inverted).
    private static func civil(_ day: Int64) -> (month: Int, day: Int) {
        let shifted = day + 719_468
        let era = floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        return (
            month: Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9),
            day: Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
        )
    }
}

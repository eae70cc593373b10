/// Dates as text (RFC 3339) and as milliseconds since 1970, in the proleptic Gregorian calendar.
public enum ISODate {
    /// The parts of a time in UTC.
    public struct Parts: Equatable, Sendable {
        public var year: Int64
        public var month: Int
        public var day: Int
        public var hour: Int
        public var minute: Int
        public var second: Int
        public var millisecond: Int

        /// A time with these parts.
        public init(
            year: Int64, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0, millisecond: Int = 0
        ) {
            self.year = year
            self.month = month
            self.day = day
            self.hour = hour
            self.minute = minute
            self.second = second
            self.millisecond = millisecond
        }
    }

    static let millisecondsPerDay: Int64 = 86_400_000

    /// The parts of a time.
    public static func parts(_ milliseconds: Int64) -> Parts {
        let (days, rest) = milliseconds.flooredQuotient(by: millisecondsPerDay)
        let date = civil(days)
        let time = Int(rest)
        return Parts(
            year: date.year, month: date.month, day: date.day, hour: time / 3_600_000, minute: time / 60_000 % 60,
            second: time / 1_000 % 60, millisecond: time % 1_000)
    }

    /// The time with these parts; each may be outside of its usual range and then carries over.
    /// - Returns: `nil` if the time doesn't fit into 64-bit milliseconds.
    public static func milliseconds(_ parts: Parts) -> Int64? {
        let (carry, month) = Int64(parts.month - 1).flooredQuotient(by: 12)
        let (year, overflow) = parts.year.addingReportingOverflow(carry)
        guard !overflow, year.magnitude < 300_000_000 else { return nil }
        let days = self.days(year: year, month: Int(month) + 1, day: 1) + Int64(parts.day - 1)
        let time =
            Int64(parts.hour) * 3_600_000 + Int64(parts.minute) * 60_000 + Int64(parts.second) * 1_000
            + Int64(parts.millisecond)
        let (product, tooLarge) = days.multipliedReportingOverflow(by: millisecondsPerDay)
        let (sum, tooLargeSum) = product.addingReportingOverflow(time)
        return tooLarge || tooLargeSum ? nil : sum
    }

    /// The days from 1970-01-01 to a date (Howard Hinnant's algorithm).
    public static func days(year: Int64, month: Int, day: Int) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = Int64((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1)
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    static func civil(_ days: Int64) -> (year: Int64, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1))
    }

    /// The number of days in a month.
    public static func daysInMonth(_ month: Int, year: Int64) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// The text in the form `2020-02-29T12:30:00.500Z`; milliseconds are omitted if they are 0.
    public static func text(_ milliseconds: Int64) -> String {
        var writer = ByteWriter()
        writer.appendISODate(milliseconds)
        return writer.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads `YYYY-MM-DD`, or with `THH:MM`, `:SS`, `.fraction` and a zone (`Z`, `+HH:MM`, `+HHMM`, `+HH`); without a zone it is
    /// UTC.
    public static func milliseconds(_ text: some StringProtocol) -> Int64? {
        var text = String(text)
        return text.withUTF8 { milliseconds($0) }
    }

    static func milliseconds(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        var reader = DigitReader(text: text)
        let sign: Int64 = reader.skip(UInt8(ascii: "-")) ? -1 : 1
        guard let year = reader.number(4), reader.skip(UInt8(ascii: "-")), let month = reader.number(2),
            (1...12).contains(month),
            reader.skip(UInt8(ascii: "-")), let day = reader.number(2), day >= 1,
            day <= daysInMonth(month, year: sign * Int64(year))
        else { return nil }
        let days = self.days(year: sign * Int64(year), month: month, day: day)
        var time: Int64 = 0
        if reader.skip(UInt8(ascii: "T")) || reader.skip(UInt8(ascii: "t")) || reader.skip(UInt8(ascii: " ")) {
            guard let hour = reader.number(2), hour < 24, reader.skip(UInt8(ascii: ":")), let minute = reader.number(2),
                minute < 60
            else {
                return nil
            }
            time = Int64(hour) * 3_600_000 + Int64(minute) * 60_000
            if reader.skip(UInt8(ascii: ":")) {
                guard let second = reader.number(2), second <= 60 else { return nil }
                time += Int64(second) * 1_000
                if reader.skip(UInt8(ascii: ".")) {
                    guard let fraction = reader.milliseconds() else { return nil }
                    time += Int64(fraction)
                }
            }
            guard let offset = reader.zone() else { return nil }
            time -= Int64(offset) * 60_000
        }
        guard reader.isAtEnd else { return nil }
        return days * millisecondsPerDay + time
    }
}

/// Reads numbers with a fixed number of digits.
private struct DigitReader {
    let text: UnsafeBufferPointer<UInt8>
    var position = 0

    var isAtEnd: Bool { position == text.count }

    mutating func skip(_ byte: UInt8) -> Bool {
        guard position < text.count, text[position] == byte else { return false }
        position += 1
        return true
    }

    mutating func number(_ digits: Int) -> Int? {
        guard position + digits <= text.count else { return nil }
        var value = 0
        for index in position..<position + digits {
            let digit = text[index] &- 0x30
            guard digit < 10 else { return nil }
            value = value * 10 + Int(digit)
        }
        position += digits
        return value
    }

    /// A fraction of a second of any length, truncated to three digits.
    mutating func milliseconds() -> Int? {
        var value = 0, count = 0
        while position < text.count, text[position] &- 0x30 < 10 {
            if count < 3 { value = value * 10 + Int(text[position] - 0x30) }
            count += 1
            position += 1
        }
        guard count > 0 else { return nil }
        return count == 1 ? value * 100 : count == 2 ? value * 10 : value
    }

    /// Minutes east of UTC.
    mutating func zone() -> Int? {
        if isAtEnd || skip(UInt8(ascii: "Z")) || skip(UInt8(ascii: "z")) { return 0 }
        let isNegative = skip(UInt8(ascii: "-"))
        guard isNegative || skip(UInt8(ascii: "+")), let hours = number(2), hours < 24 else { return nil }
        _ = skip(UInt8(ascii: ":"))
        var minutes = 0
        if !isAtEnd {
            guard let number = number(2), number < 60 else { return nil }
            minutes = number
        }
        return (isNegative ? -1 : 1) * (hours * 60 + minutes)
    }
}

extension Int64 {
    /// Quotient and remainder, the remainder never negative.
    public func flooredQuotient(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

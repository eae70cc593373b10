import Glibc

/// A time of the system's clock, with microsecond precision.
public struct LogTime: Sendable, Hashable {
    /// Microseconds since 1970-01-01T00:00:00Z.
    public let microseconds: Int64

    /// Makes a time from microseconds since 1970-01-01T00:00:00Z.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// The current time.
    public static var now: LogTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return LogTime(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }

    /// Appends `2026-01-31T23:59:59.123456Z`. It doesn't use `strftime` or Foundation, which cost more than the rest of the line.
    package func append(to bytes: inout [UInt8]) {
        let (seconds, fraction) = floorDivide(microseconds, by: 1_000_000)
        let (days, second) = floorDivide(seconds, by: 86_400)
        let date = civil(fromDays: days)
        appendDigits(date.year, 4, to: &bytes)
        bytes.append(UInt8(ascii: "-"))
        appendDigits(date.month, 2, to: &bytes)
        bytes.append(UInt8(ascii: "-"))
        appendDigits(date.day, 2, to: &bytes)
        bytes.append(UInt8(ascii: "T"))
        appendDigits(second / 3600, 2, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        appendDigits(second / 60 % 60, 2, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        appendDigits(second % 60, 2, to: &bytes)
        bytes.append(UInt8(ascii: "."))
        appendDigits(fraction, 6, to: &bytes)
        bytes.append(UInt8(ascii: "Z"))
    }

    /// Quotient and remainder, with a remainder that is never negative, so that times before 1970 are correct.
    private func floorDivide(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    /// The Gregorian date of a day number. Years are counted from March, so that the leap day is the last of a year.
    private func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let (era, dayOfEra) = floorDivide(shifted, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    /// Appends two digits at a time; `count` must be even.
    private func appendDigits(_ value: Int64, _ count: Int, to bytes: inout [UInt8]) {
        if count > 2 { appendDigits(value / 100, count - 2, to: &bytes) }
        let pair = UInt8(truncatingIfNeeded: value % 100)
        bytes.append(UInt8(ascii: "0") + pair / 10)
        bytes.append(UInt8(ascii: "0") + pair % 10)
    }
}

/// Times as headers of HTTP have them (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
public enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The text of a time in milliseconds since 1970; its fraction of a second is left out.
    public static func text(_ milliseconds: Int64) -> String {
        let parts = ISODate.parts(milliseconds)
        let days = ISODate.days(year: parts.year, month: parts.month, day: parts.day)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        // 1 January 1970 was a Thursday.
        return
            "\(Self.days[Int(((days + 4) % 7 + 7) % 7)]), \(two(parts.day)) \(months[parts.month - 1]) \(parts.year) "
            + "\(two(parts.hour)):\(two(parts.minute)):\(two(parts.second)) GMT"
    }

    /// The time in milliseconds; `nil` for any other form.
    public static func milliseconds(_ text: String) -> Int64? {
        guard
            let match = text.wholeMatch(
                of: /[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT/),
            let month = months.firstIndex(of: String(match.2)), let day = Int(match.1), let year = Int64(match.3),
            let hour = Int(match.4), let minute = Int(match.5), let second = Int(match.6)
        else { return nil }
        return ISODate.milliseconds(
            .init(year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second))
    }
}

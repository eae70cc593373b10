import DocumentModel

/// A wall-clock time with its calendar fields.
struct CalendarDate {
    /// The wall-clock time in milliseconds since 1970, as if it were UTC.
    let local: Int64
    let parts: ISODate.Parts

    init(local: Int64) {
        self.local = local
        parts = ISODate.parts(local)
    }

    init(_ milliseconds: Int64, in zone: Zone) { self.init(local: zone.local(milliseconds)) }

    /// Days since 1970-01-01.
    var day: Int64 { local.flooredQuotient(by: 86_400_000).quotient }

    /// From 1 on Sunday to 7 on Saturday.
    var dayOfWeek: Int { Int((day + 4).flooredQuotient(by: 7).remainder) + 1 }

    /// From 1 on Monday to 7 on Sunday.
    var isoDayOfWeek: Int { Int((day + 3).flooredQuotient(by: 7).remainder) + 1 }

    /// The day of the year, from 1.
    var dayOfYear: Int { Int(day - ISODate.days(year: parts.year, month: 1, day: 1)) + 1 }

    /// The week of the year: 0 before the first Sunday, then from 1.
    var week: Int { (dayOfYear + 7 - dayOfWeek) / 7 }

    /// Year and week of ISO 8601: weeks begin on Monday, and the first one contains the year's first Thursday.
    var isoWeek: (year: Int64, week: Int) {
        let thursday = day - Int64(isoDayOfWeek - 1) + 3
        let year = ISODate.parts(thursday * 86_400_000).year
        return (year, Int((thursday - ISODate.days(year: year, month: 1, day: 1)) / 7) + 1)
    }

    /// The first day (Monday) of week 1 of an ISO year, in days since 1970.
    static func firstMonday(ofISOYear year: Int64) -> Int64 {
        let fourth = ISODate.days(year: year, month: 1, day: 4)
        return fourth - (fourth + 3).flooredQuotient(by: 7).remainder
    }
}

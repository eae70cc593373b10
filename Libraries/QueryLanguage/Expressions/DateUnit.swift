import DocumentModel

/// A unit of `$dateAdd`, `$dateDiff` and `$dateTrunc`.
enum DateUnit: String {
    case year, quarter, month, week, day, hour, minute, second, millisecond

    init(_ value: Value?, _ name: String) throws(QueryError) {
        guard case .string(let text)? = value else {
            throw QueryError(
                code: 5_439_013, message: "\(name) requires 'unit' to be a string, but got \(value.typeName)")
        }
        guard let unit = DateUnit(rawValue: text) else { throw .failedToParse("unknown time unit value: \(text)") }
        self = unit
    }

    /// The length of a unit whose length is constant; `nil` for others.
    var milliseconds: Int64? {
        switch self {
        case .millisecond: 1
        case .second: 1_000
        case .minute: 60_000
        case .hour: 3_600_000
        case .day: 86_400_000
        case .week: 604_800_000
        default: nil
        }
    }

    private var months: Int64 {
        switch self {
        case .year: 12
        case .quarter: 3
        default: 1
        }
    }

    /// The time that is this many units later; a day that the month doesn't have becomes its last day.
    func adding(_ amount: Int64, to moment: Int64, in zone: Zone) throws(QueryError) -> Int64 {
        let overflow = QueryError(code: 5_166_405, message: "$dateAdd overflowed")
        if let milliseconds {
            let (product, tooLarge) = amount.multipliedReportingOverflow(by: milliseconds)
            let isWall = self == .day || self == .week
            let (sum, tooLargeSum) = (isWall ? zone.local(moment) : moment).addingReportingOverflow(product)
            guard !tooLarge, !tooLargeSum else { throw overflow }
            return isWall ? zone.moment(sum) : sum
        }
        let date = CalendarDate(moment, in: zone)
        let (product, tooLarge) = amount.multipliedReportingOverflow(by: months)
        guard !tooLarge, product.magnitude < 1 << 40 else { throw overflow }
        let (years, month) = (Int64(date.parts.month - 1) + product).flooredQuotient(by: 12)
        var parts = date.parts
        parts.year += years
        parts.month = Int(month) + 1
        parts.day = min(parts.day, ISODate.daysInMonth(parts.month, year: parts.year))
        guard let local = ISODate.milliseconds(parts) else { throw overflow }
        return zone.moment(local)
    }

    private func period(of date: CalendarDate) -> Int64 {
        let month = date.parts.year * 12 + Int64(date.parts.month - 1)
        return month.flooredQuotient(by: months).quotient
    }

    /// How many boundaries of this unit lie between two times.
    func difference(from start: Int64, to end: Int64, in zone: Zone, startOfWeek: Int64) -> Int64 {
        let a = CalendarDate(start, in: zone), b = CalendarDate(end, in: zone)
        switch self {
        case .week:
            let weeks = [a, b].map { ($0.day - startOfWeek).flooredQuotient(by: 7).quotient }
            return weeks[1] - weeks[0]
        case .day: return b.day - a.day
        case .year, .quarter, .month:
            return period(of: b) - period(of: a)
        case .hour, .minute:
            let length = milliseconds ?? 1
            return (end &+ zone.offset(at: start)).flooredQuotient(by: length).quotient
                - a.local.flooredQuotient(by: length).quotient
        case .second, .millisecond:
            let length = milliseconds ?? 1
            return end.flooredQuotient(by: length).quotient - start.flooredQuotient(by: length).quotient
        }
    }

    /// The beginning of the bin that contains a time; bins have `binSize` units and are counted from the year 2000.
    func truncating(_ moment: Int64, binSize: Int64, in zone: Zone, startOfWeek: Int64) throws(QueryError) -> Int64 {
        let date = CalendarDate(moment, in: zone)
        let overflow = QueryError(code: 5_166_406, message: "$dateTrunc overflowed")
        if let milliseconds {
            let (length, tooLarge) = binSize.multipliedReportingOverflow(by: milliseconds)
            guard !tooLarge else { throw overflow }
            var reference = ISODate.days(year: 2000, month: 1, day: 1)
            if self == .week { reference += (startOfWeek - reference).flooredQuotient(by: 7).remainder }
            let isWall = self == .day || self == .week
            let (distance, tooFar) = date.local.subtractingReportingOverflow(reference * 86_400_000)
            let rest = distance.flooredQuotient(by: length).remainder
            let (start, tooFarBack) = (isWall ? date.local : moment).subtractingReportingOverflow(rest)
            guard !tooFar, !tooFarBack else { throw overflow }
            return isWall ? zone.moment(start) : start
        }
        let (length, tooLarge) = binSize.multipliedReportingOverflow(by: months)
        guard !tooLarge else { throw overflow }
        let since = (date.parts.year - 2000) * 12 + Int64(date.parts.month - 1)
        let first = since - since.flooredQuotient(by: length).remainder
        let (years, month) = first.flooredQuotient(by: 12)
        let parts = ISODate.Parts(
            year: 2000 + years, month: Int(month) + 1, day: 1, hour: 0, minute: 0, second: 0, millisecond: 0)
        guard let local = ISODate.milliseconds(parts) else { throw overflow }
        return zone.moment(local)
    }

    /// The first day of the week as an offset from Thursday, 1970-01-01.
    static func startOfWeek(_ value: Value?) throws(QueryError) -> Int64 {
        guard let value else { return -4 }
        let names = ["thursday", "friday", "saturday", "sunday", "monday", "tuesday", "wednesday"]
        guard case .string(let text) = value, text.count >= 3,
            let index = names.firstIndex(where: { $0 == text.lowercased() || $0.prefix(3) == text.lowercased() })
        else { throw .failedToParse("unknown day of week value: \(value)") }
        return Int64(index)
    }
}

import DocumentModel

/// Operators on dates.
extension ExpressionOperators {
    static let date: [ExpressionOperator] = []

    static let namedDate: [NamedOperator] =
        [
            part("$year") { $0.parts.year }, part("$month") { Int64($0.parts.month) },
            part("$dayOfMonth") { Int64($0.parts.day) },
            part("$hour") { Int64($0.parts.hour) }, part("$minute") { Int64($0.parts.minute) },
            part("$second") { Int64($0.parts.second) },
            part("$millisecond") { Int64($0.parts.millisecond) }, part("$dayOfYear") { Int64($0.dayOfYear) },
            part("$dayOfWeek") { Int64($0.dayOfWeek) }, part("$week") { Int64($0.week) },
            part("$isoDayOfWeek") { Int64($0.isoDayOfWeek) },
            part("$isoWeek") { Int64($0.isoWeek.week) }, part("$isoWeekYear") { $0.isoWeek.year },
        ] + [
            NamedOperator("$dateToParts", ["date"], optional: ["timezone", "iso8601"]) {
                (arguments, _) throws(QueryError) in try toParts(arguments)
            },
            NamedOperator(
                "$dateFromParts", [],
                optional: [
                    "year", "month", "day", "hour", "minute", "second", "millisecond", "timezone", "isoWeekYear",
                    "isoWeek", "isoDayOfWeek",
                ]
            ) { (arguments, _) throws(QueryError) in try fromParts(arguments) },
            NamedOperator("$dateToString", ["date"], optional: ["format", "timezone", "onNull"]) {
                (arguments, _) throws(QueryError) in
                try toString(arguments)
            },
            NamedOperator("$dateFromString", ["dateString"], optional: ["format", "timezone", "onError", "onNull"]) {
                (arguments, _) throws(QueryError) in
                try fromString(arguments)
            },
            NamedOperator("$dateAdd", ["startDate", "unit", "amount"], optional: ["timezone"]) {
                (arguments, _) throws(QueryError) in
                try add("$dateAdd", arguments, sign: 1)
            },
            NamedOperator("$dateSubtract", ["startDate", "unit", "amount"], optional: ["timezone"]) {
                (arguments, _) throws(QueryError) in
                try add("$dateSubtract", arguments, sign: -1)
            },
            NamedOperator("$dateDiff", ["startDate", "endDate", "unit"], optional: ["timezone", "startOfWeek"]) {
                (arguments, _) throws(QueryError) in
                guard let start = try moment("$dateDiff", arguments["startDate"]),
                    let end = try moment("$dateDiff", arguments["endDate"]),
                    let zone = try zone(arguments), !arguments["unit"].isNullish
                else { return .null }
                let unit = try DateUnit(arguments["unit"], "$dateDiff")
                return .int64(
                    unit.difference(
                        from: start, to: end, in: zone, startOfWeek: try DateUnit.startOfWeek(arguments["startOfWeek"]))
                )
            },
            NamedOperator("$dateTrunc", ["date", "unit"], optional: ["binSize", "timezone", "startOfWeek"]) {
                (arguments, _) throws(QueryError) in
                guard let date = try moment("$dateTrunc", arguments["date"]), let zone = try zone(arguments),
                    !arguments["unit"].isNullish
                else {
                    return .null
                }
                let unit = try DateUnit(arguments["unit"], "$dateTrunc")
                var size: Int64 = 1
                if arguments.isGiven("binSize") {
                    if arguments["binSize"].isNullish { return .null }
                    guard let number = arguments["binSize"]?.int64Value, number > 0 else {
                        throw QueryError(code: 5_439_018, message: "$dateTrunc requires 'binSize' to be greater than 0")
                    }
                    size = number
                }
                return .date(
                    try unit.truncating(
                        date, binSize: size, in: zone, startOfWeek: try DateUnit.startOfWeek(arguments["startOfWeek"])))
            },
        ]

    private static func part(_ name: String, _ pick: @escaping @Sendable (CalendarDate) -> Int64) -> NamedOperator {
        NamedOperator(name, ["date"], optional: ["timezone"]) { (arguments, _) throws(QueryError) in
            guard let date = try moment(name, arguments["date"]), let zone = try zone(arguments) else { return .null }
            let number = pick(CalendarDate(date, in: zone))
            return name == "$isoWeekYear" ? .int64(number) : .integer(number)
        }
    }

    private static let codesOfWrongDates = [
        "$dateAdd": 5_166_403, "$dateSubtract": 5_166_403, "$dateDiff": 5_166_307, "$dateTrunc": 5_439_012,
    ]

    /// The time of a date, timestamp or ObjectId; `nil` for null.
    private static func moment(_ name: String, _ value: Value?) throws(QueryError) -> Int64? {
        switch value {
        case nil, .null?, .undefined?: return nil
        case .date(let milliseconds)?:
            // Closer to the limits of 64 bits, adding a week or a zone's offset would overflow.
            guard milliseconds.magnitude < 9_000_000_000_000_000_000 else {
                throw QueryError(code: 15, message: "\(name): the date is out of range")
            }
            return milliseconds
        case .timestamp(let time)?: return Int64(time.seconds) * 1000
        case .objectId(let id)?: return Int64(id.seconds) * 1000
        default:
            throw QueryError(
                code: codesOfWrongDates[name] ?? 16006,
                message: "\(name): can't convert from BSON type \(value.typeName) to Date")
        }
    }

    private static func zone(_ arguments: NamedOperator.Arguments) throws(QueryError) -> Zone? {
        if arguments.isGiven("timezone"), arguments["timezone"].isNullish { return nil }
        return try Zone(arguments["timezone"])
    }

    private static func toParts(_ arguments: NamedOperator.Arguments) throws(QueryError) -> Value? {
        guard let moment = try moment("$dateToParts", arguments["date"]), let zone = try zone(arguments) else {
            return .null
        }
        let date = CalendarDate(moment, in: zone)
        let time: Document = [
            "hour": .integer(date.parts.hour), "minute": .integer(date.parts.minute),
            "second": .integer(date.parts.second),
            "millisecond": .integer(date.parts.millisecond),
        ]
        let day: Document =
            arguments["iso8601"]?.boolValue == true
            ? [
                "isoWeekYear": .integer(date.isoWeek.year), "isoWeek": .integer(date.isoWeek.week),
                "isoDayOfWeek": .integer(date.isoDayOfWeek),
            ]
            : ["year": .integer(date.parts.year), "month": .integer(date.parts.month), "day": .integer(date.parts.day)]
        return .document(Document(fields: day.fields + time.fields))
    }

    private static func fromParts(_ arguments: NamedOperator.Arguments) throws(QueryError) -> Value? {
        guard let zone = try zone(arguments) else { return .null }
        var numbers: [String: Int64] = [:]
        for name in [
            "year", "month", "day", "hour", "minute", "second", "millisecond", "isoWeekYear", "isoWeek", "isoDayOfWeek",
        ]
        where arguments.isGiven(name) {
            if arguments[name].isNullish { return .null }
            guard let number = arguments[name]?.int64Value else {
                throw QueryError(
                    code: 40515, message: "'\(name)' must evaluate to an integer, found \(arguments[name].typeName)")
            }
            guard number.magnitude <= 32_767 || ["second", "millisecond"].contains(name) else {
                throw QueryError(
                    code: 31034,
                    message: "'\(name)' must evaluate to a value in the range [-32768, 32767]; value given: \(number)")
            }
            numbers[name] = number
        }
        var days: Int64
        if let year = numbers["isoWeekYear"] {
            guard numbers["year"] == nil, numbers["month"] == nil, numbers["day"] == nil else {
                throw QueryError(
                    code: 40525, message: "$dateFromParts does not allow mixing ISO 8601 dates with natural dates")
            }
            days =
                CalendarDate.firstMonday(ofISOYear: year) + ((numbers["isoWeek"] ?? 1) - 1) * 7
                + (numbers["isoDayOfWeek"] ?? 1) - 1
        } else {
            guard numbers["isoWeek"] == nil, numbers["isoDayOfWeek"] == nil else {
                throw QueryError(
                    code: 40489, message: "$dateFromParts does not allow mixing natural dates with ISO 8601 dates")
            }
            guard let year = numbers["year"] else {
                throw QueryError(
                    code: 40516, message: "$dateFromParts requires either 'year' or 'isoWeekYear' to be present")
            }
            guard (1...9999).contains(year) else {
                throw QueryError(
                    code: 40523, message: "'year' must evaluate to an integer in the range 1 to 9999, found \(year)")
            }
            let (carry, month) = ((numbers["month"] ?? 1) - 1).flooredQuotient(by: 12)
            days = ISODate.days(year: year + carry, month: Int(month) + 1, day: 1) + (numbers["day"] ?? 1) - 1
        }
        let time = (numbers["hour"] ?? 0) * 3_600_000 + (numbers["minute"] ?? 0) * 60_000
        let (seconds, tooLarge) = (numbers["second"] ?? 0).multipliedReportingOverflow(by: 1000)
        let (sum, tooLargeSum) = (days * 86_400_000 + time).addingReportingOverflow(seconds)
        let (total, tooLargeTotal) = sum.addingReportingOverflow(numbers["millisecond"] ?? 0)
        guard !tooLarge, !tooLargeSum, !tooLargeTotal else {
            throw QueryError(code: 15, message: "$dateFromParts overflowed")
        }
        return .date(zone.moment(total))
    }

    private static func toString(_ arguments: NamedOperator.Arguments) throws(QueryError) -> Value? {
        guard let moment = try moment("$dateToString", arguments["date"]) else {
            return arguments.isGiven("onNull") ? arguments["onNull"] : .null
        }
        guard let zone = try zone(arguments) else { return .null }
        guard arguments.isGiven("format") else {
            return .string(
                try DateFormat.print(moment, format: "%Y-%m-%dT%H:%M:%S.%L" + (zone.isUTC ? "Z" : ""), in: zone))
        }
        if arguments["format"].isNullish { return .null }
        guard case .string(let format)? = arguments["format"] else {
            throw QueryError(
                code: 18533,
                message: "$dateToString requires that 'format' be a string, found: \(arguments["format"].typeName)")
        }
        return .string(try DateFormat.print(moment, format: format, in: zone))
    }

    private static func fromString(_ arguments: NamedOperator.Arguments) throws(QueryError) -> Value? {
        if arguments["dateString"].isNullish { return arguments.isGiven("onNull") ? arguments["onNull"] : .null }
        guard let zone = try zone(arguments) else { return .null }
        let failure: QueryError
        if case .string(let text)? = arguments["dateString"] {
            if arguments.isGiven("format") {
                if arguments["format"].isNullish { return .null }
                guard case .string(let format)? = arguments["format"] else {
                    throw QueryError(code: 40684, message: "$dateFromString requires that 'format' be a string")
                }
                if let read = try DateFormat.parse(text, format: format) {
                    if let moment = inZone(read.local, offset: read.offset, zone) { return .date(moment) }
                    failure = twoZones("GMT offset")
                } else {
                    failure = QueryError(code: 241, message: "Error parsing date string '\(text)'")
                }
            } else if let local = Conversion.moment(text) {
                let time = text.drop { $0 != "T" && $0 != " " }
                let sign = time.first { $0 == "Z" || $0 == "z" || $0 == "+" || $0 == "-" }
                // The text's own zone is already included in `local`.
                if let moment = inZone(local, offset: sign.map { _ in 0 }, zone) { return .date(moment) }
                failure = twoZones(
                    sign == "+" || sign == "-" ? "GMT offset" : "time zone information ('\(sign ?? "Z")')")
            } else {
                failure = QueryError(code: 241, message: "Error parsing date string '\(text)'")
            }
        } else {
            failure = QueryError(
                code: 241,
                message:
                    "$dateFromString requires that 'dateString' be a string, found: \(arguments["dateString"].typeName)"
            )
        }
        guard arguments.isGiven("onError") else { throw failure }
        return arguments["onError"]
    }

    /// The time of a text: if it doesn't name a zone, the given one applies.
    /// - Returns: `nil` if both the text and the arguments name a zone.
    private static func inZone(_ local: Int64, offset: Int64?, _ zone: Zone) -> Int64? {
        guard let offset else { return zone.moment(local) }
        return zone.isUTC ? local - offset : nil
    }

    private static func twoZones(_ own: String) -> QueryError {
        QueryError(
            code: 241, message: "you cannot pass in a date/time string with \(own) together with a timezone argument")
    }

    private static func add(_ name: String, _ arguments: NamedOperator.Arguments, sign: Int64) throws(QueryError)
        -> Value?
    {
        guard let start = try moment(name, arguments["startDate"]), let zone = try zone(arguments),
            !arguments["unit"].isNullish,
            !arguments["amount"].isNullish
        else { return .null }
        guard let amount = arguments["amount"]?.int64Value, amount != .min else {
            throw QueryError(code: 5_166_405, message: "\(name) expects integer amount of time units")
        }
        return .date(try DateUnit(arguments["unit"], name).adding(amount * sign, to: start, in: zone))
    }
}

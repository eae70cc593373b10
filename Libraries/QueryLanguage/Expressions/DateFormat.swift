import DocumentModel

/// The formats of `$dateToString` and `$dateFromString`.
enum DateFormat {
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    static func print(_ moment: Int64, format: String, in zone: Zone) throws(QueryError) -> String {
        let date = CalendarDate(moment, in: zone)
        var text = ""
        var characters = format.makeIterator()
        while let character = characters.next() {
            guard character == "%" else { text.append(character); continue }
            guard let specifier = characters.next() else {
                throw QueryError(code: 18535, message: "Unmatched '%' at end of format string")
            }
            text += try print(specifier, date, zone.offset(at: moment) / 60_000)
        }
        return text
    }

    private static func print(_ specifier: Character, _ date: CalendarDate, _ offset: Int64) throws(QueryError)
        -> String
    {
        switch specifier {
        case "Y": return try padded(date.parts.year, 4)
        case "G": return try padded(date.isoWeek.year, 4)
        case "m": return try padded(Int64(date.parts.month), 2)
        case "d": return try padded(Int64(date.parts.day), 2)
        case "H": return try padded(Int64(date.parts.hour), 2)
        case "M": return try padded(Int64(date.parts.minute), 2)
        case "S": return try padded(Int64(date.parts.second), 2)
        case "L": return try padded(Int64(date.parts.millisecond), 3)
        case "j": return try padded(Int64(date.dayOfYear), 3)
        case "U": return try padded(Int64(date.week), 2)
        case "V": return try padded(Int64(date.isoWeek.week), 2)
        case "w": return String(date.dayOfWeek)
        case "u": return String(date.isoDayOfWeek)
        case "b": return String(months[date.parts.month - 1].prefix(3))
        case "B": return months[date.parts.month - 1]
        case "z": return try (offset < 0 ? "-" : "+") + padded(abs(offset) / 60, 2) + padded(abs(offset) % 60, 2)
        case "Z": return String(offset)
        case "%": return "%"
        default: throw QueryError(code: 18536, message: "Invalid format character '%\(specifier)' in format string")
        }
    }

    private static func padded(_ number: Int64, _ width: Int) throws(QueryError) -> String {
        guard number >= 0, number <= 9999 else {
            throw QueryError(
                code: 18537,
                message:
                    "Could not convert date to string: date component was outside the supported range of 0-9999: \(number)"
            )
        }
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// Parses a text by a format: the time in it, and the offset from UTC in milliseconds if the text has one.
    /// - Returns: `nil` if the text doesn't fit the format.
    static func parse(_ text: String, format: String) throws(QueryError) -> (local: Int64, offset: Int64?)? {
        var rest = Substring(text)
        var parts = ISODate.Parts(year: 1970, month: 1, day: 1, hour: 0, minute: 0, second: 0, millisecond: 0)
        var isoYear: Int64?
        var isoWeek = 1, isoDay = 1, offset: Int64?, dayOfYear: Int?
        var characters = format.makeIterator()
        while let character = characters.next() {
            guard character == "%" else {
                guard rest.first == character else { return nil }
                rest.removeFirst()
                continue
            }
            guard let specifier = characters.next() else {
                throw QueryError(code: 18535, message: "Unmatched '%' at end of format string")
            }
            switch specifier {
            case "Y": guard let number = number(&rest, 4) else { return nil }; parts.year = Int64(number)
            case "m":
                guard let number = number(&rest, 2), (1...12).contains(number) else { return nil }; parts.month = number
            case "d":
                guard let number = number(&rest, 2), (1...31).contains(number) else { return nil }; parts.day = number
            case "H": guard let number = number(&rest, 2), number < 24 else { return nil }; parts.hour = number
            case "M": guard let number = number(&rest, 2), number < 60 else { return nil }; parts.minute = number
            case "S": guard let number = number(&rest, 2), number <= 60 else { return nil }; parts.second = number
            case "L": guard let number = number(&rest, 3) else { return nil }; parts.millisecond = number
            case "j":
                guard let number = number(&rest, 3), (1...366).contains(number) else { return nil }; dayOfYear = number
            case "G": guard let number = number(&rest, 4) else { return nil }; isoYear = Int64(number)
            case "V":
                guard let number = number(&rest, 2), (1...53).contains(number) else { return nil }; isoWeek = number
            case "u": guard let number = number(&rest, 1), (1...7).contains(number) else { return nil }; isoDay = number
            case "b", "B": guard let month = month(&rest) else { return nil }; parts.month = month
            case "z": guard let minutes = self.offset(&rest) else { return nil }; offset = minutes * 60_000
            case "Z": guard let minutes = signed(&rest) else { return nil }; offset = minutes * 60_000
            case "%": guard rest.first == "%" else { return nil }; rest.removeFirst()
            default: throw QueryError(code: 18536, message: "Invalid format character '%\(specifier)' in format string")
            }
        }
        guard rest.isEmpty else { return nil }
        if let isoYear {
            let day = CalendarDate.firstMonday(ofISOYear: isoYear) + Int64(isoWeek - 1) * 7 + Int64(isoDay - 1)
            let date = ISODate.parts(day * 86_400_000)
            (parts.year, parts.month, parts.day) = (date.year, date.month, date.day)
        } else if let dayOfYear {
            (parts.month, parts.day) = (1, dayOfYear)
        } else if parts.day > ISODate.daysInMonth(parts.month, year: parts.year) {
            return nil
        }
        guard let local = ISODate.milliseconds(parts) else { return nil }
        return (local, offset)
    }

    private static func number(_ rest: inout Substring, _ most: Int) -> Int? {
        let digits = rest.prefix(most).prefix { $0.isASCII && $0.isNumber }
        rest = rest.dropFirst(digits.count)
        return Int(digits)
    }

    private static func month(_ rest: inout Substring) -> Int? {
        for (index, name) in months.enumerated() {
            for form in [name, String(name.prefix(3))] where rest.lowercased().hasPrefix(form.lowercased()) {
                rest = rest.dropFirst(form.count)
                return index + 1
            }
        }
        return nil
    }

    private static func offset(_ rest: inout Substring) -> Int64? {
        if rest.first == "Z" { rest.removeFirst(); return 0 }
        guard let sign = rest.first, sign == "+" || sign == "-" else { return nil }
        rest.removeFirst()
        guard let hours = number(&rest, 2) else { return nil }
        if rest.first == ":" { rest.removeFirst() }
        let minutes = number(&rest, 2) ?? 0
        return (sign == "-" ? -1 : 1) * Int64(hours * 60 + minutes)
    }

    private static func signed(_ rest: inout Substring) -> Int64? {
        let sign: Int64 = rest.first == "-" ? -1 : 1
        if rest.first == "-" || rest.first == "+" { rest.removeFirst() }
        return number(&rest, 4).map { sign * Int64($0) }
    }
}

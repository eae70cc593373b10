/// Durations in a readable notation: numbers, each with its unit, from the largest unit to the smallest.
enum DurationText {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    static func parse(_ text: String) -> Duration? {
        var rest = text[...]
        var total: Int64 = 0
        var next = 0
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            let name = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(name.count)
            guard let number = Int64(digits), let index = units.firstIndex(where: { $0.name == name }), index >= next
            else { return nil }
            next = index + 1
            let (product, overflow) = number.multipliedReportingOverflow(by: units[index].milliseconds)
            let (sum, overflows) = total.addingReportingOverflow(product)
            if overflow || overflows { return nil }
            total = sum
        }
        return text.isEmpty ? nil : .milliseconds(total)
    }

    /// Fractions of a millisecond are dropped.
    static func print(_ duration: Duration) -> String {
        var rest = Int64(duration / .milliseconds(1))
        if rest <= 0 { return "0s" }
        var text = ""
        for (name, milliseconds) in units where rest >= milliseconds {
            text += "\(rest / milliseconds)\(name)"
            rest %= milliseconds
        }
        return text
    }
}

/// Numbers of bytes in a readable notation, such as `64KiB`.
enum ByteCountText {
    private static let units: [(name: String, shift: Int)] = [("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0), ("", 0)]

    static func parse(_ text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let name = text.dropFirst(digits.count)
        guard let number = Int(digits), let unit = units.first(where: { $0.name == name }) else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: 1 << unit.shift)
        return overflow ? nil : product
    }

    static func print(_ count: Int) -> String {
        for (name, shift) in units where shift > 0 && count > 0 && count % (1 << shift) == 0 {
            return "\(count >> shift)\(name)"
        }
        return "\(count)"
    }
}

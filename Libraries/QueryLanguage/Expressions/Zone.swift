package import DocumentModel
import Foundation

/// A time zone of a date expression: UTC, an offset such as `+05:30`, or a name of the tz database.
package struct Zone: Sendable {
    private enum Kind: Sendable {
        case fixed(Int64)
        case named(TimeZone)
    }

    private let kind: Kind
    /// Whether this is UTC itself.
    package let isUTC: Bool

    static let utc = Zone()

    private init() {
        kind = .fixed(0)
        isUTC = true
    }

    /// - Throws: 40485 for an unknown name.
    package init(_ value: Value?) throws(QueryError) {
        guard let value else { self = .utc; return }
        guard case .string(let name) = value else {
            throw QueryError(code: 40517, message: "timezone must evaluate to a string, found \(value.typeName)")
        }
        if ["UTC", "GMT", "Z"].contains(name) { self = .utc; return }
        if let offset = Self.offset(name) {
            kind = .fixed(offset)
            isUTC = offset == 0
        } else if let zone = TimeZone(identifier: name),
            name.contains("/") || TimeZone.knownTimeZoneIdentifiers.contains(name) || name.count > 3
        {
            kind = .named(zone)
            isUTC = false
        } else {
            throw QueryError(code: 40485, message: "unrecognized time zone identifier: \"\(name)\"")
        }
    }

    /// `+HH`, `+HHMM` or `+HH:MM` in milliseconds.
    private static func offset(_ text: String) -> Int64? {
        guard let sign = text.first, sign == "+" || sign == "-" else { return nil }
        let digits = text.dropFirst().filter { $0 != ":" }
        guard digits.utf8.allSatisfy({ $0 &- 0x30 < 10 }), digits.count == 2 || digits.count == 4,
            let number = Int64(digits)
        else { return nil }
        let minutes = digits.count == 2 ? number * 60 : number / 100 * 60 + number % 100
        return (sign == "-" ? -1 : 1) * minutes * 60_000
    }

    /// The name in the tz database; `nil` for an offset.
    var name: String? { if case .named(let zone) = kind { zone.identifier } else { nil } }

    /// How many milliseconds the zone is ahead of UTC at a time.
    func offset(at milliseconds: Int64) -> Int64 {
        switch kind {
        case .fixed(let offset): offset
        case .named(let zone):
            Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(milliseconds) / 1000))) * 1000
        }
    }

    /// The wall-clock time at a time, as if it were UTC.
    func local(_ milliseconds: Int64) -> Int64 { milliseconds &+ offset(at: milliseconds) }

    /// The time at which the wall clock shows this. A clock that is put forward doesn't show some times: as in MongoDB, they are as far behind
    /// the change as they would have been without it.
    func moment(_ local: Int64) -> Int64 {
        let guess = local &- offset(at: local), after = offset(at: guess)
        let moment = local &- after, before = offset(at: moment)
        return local &- min(before, after)
    }
}

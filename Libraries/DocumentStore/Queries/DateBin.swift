import DocumentModel
import QueryLanguage

/// An expression by a date's calendar, such as `{$month: "$at"}`, that has one value for all dates of a span of time: Postgres groups by the
/// span, and the expression is evaluated for its beginning only.
struct DateBin: Sendable {
    /// The path of the date.
    let path: [String]
    /// The length of a span.
    let milliseconds: Int64
    /// The moments for which that is so, in milliseconds since 1970.
    let moments: Range<Int64>
    private let expression: Expression

    private static let (second, minute, hour, day): (Int64, Int64, Int64, Int64) = (1000, 60_000, 3_600_000, 86_400_000)
    private static let (year1, year10000): (Int64, Int64) = (-62_135_596_800_000, 253_402_300_800_000)

    /// Returns `nil` if the expression isn't one of a date at a path and of constants.
    init?(_ value: Value) {
        guard case .document = value, let expression = try? Expression(value),
            case .named(let name, let arguments) = expression.node,
            case .path("CURRENT", let path)? = arguments["date"],
            arguments.allSatisfy({ $0.key == "date" || $0.value.literal != nil })
        else { return nil }
        func text(_ name: String) -> String? { arguments[name]?.literal?.stringValue }
        let span: Int64?
        switch name.name {
        case "$year", "$month", "$dayOfMonth", "$dayOfYear", "$dayOfWeek", "$week", "$isoWeek", "$isoWeekYear",
            "$isoDayOfWeek":
            span = Self.day
        case "$hour": span = Self.hour
        case "$minute": span = Self.minute
        case "$second": span = Self.second
        case "$dateToString": span = text("format").flatMap(Self.span)
        case "$dateTrunc":
            switch text("unit") {
            case "year", "quarter", "month", "week", "day": span = Self.day
            case "hour": span = Self.hour
            case "minute": span = Self.minute
            case "second": span = Self.second
            default: span = nil
            }
        default: span = nil
        }
        guard let span else { return nil }
        self.path = path.map(\.name)
        self.expression = expression
        let zone = arguments["timezone"] == nil ? try? Zone(nil) : text("timezone").flatMap { try? Zone(.string($0)) }
        guard let zone, zone.keepsQuarters else { return nil }
        milliseconds = zone.isUTC ? span : min(span, Zone.quarter)
        moments = zone.isUTC ? Self.year1..<Self.year10000 : Zone.knownMoments
    }

    /// The span of a format of `$dateToString`; `nil` if it has milliseconds.
    private static func span(of format: String) -> Int64? {
        let specifiers = format.utf8.split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false).dropFirst()
            .map(\.first)
        for (letter, span) in zip("LSMH".utf8, [nil, second, minute, hour]) where specifiers.contains(letter) {
            return span
        }
        return day
    }

    /// The expression's value for the span that begins at a moment, or where there is no date; `nil` if it is missing.
    func value(_ moment: Int64?) throws(QueryError) -> Value? {
        var document = Document()
        if let moment {
            document = path.reversed().reduce(Value.date(moment)) { .document([$1: $0]) }.documentValue ?? document
        }
        return try expression.evaluate(EvaluationContext(root: document))
    }
}

extension ExpressionNode {
    fileprivate var literal: Value? { if case .literal(let value) = self { value } else { nil } }
}

import DocumentModel
import Postgres

extension GroupTranslation {
    /// The settings for the grouping. Without them Postgres would choose to sort, since it has no statistics of the expressions.
    static let settings: PostgresStatement = """
        select set_config('enable_sort', 'off', true), set_config('work_mem', '64MB', true), set_config('jit', 'off', true)
        """

    /// The number of a row's columns: before the keys, then for each key, number, extreme and list.
    static let columns = (first: 2, key: 2, number: 6, extreme: 5, list: 2)
    /// The most bytes of a group's list; a document has at most as many.
    static let maximumList = 16 << 20

    /// A statement that Postgres can run in parallel: all its aggregates can be combined from partial results, but those of lists.
    ///
    /// The integral and the fractional parts of doubles are added as integers, the latter in units of 2⁻⁶² and 2⁻¹²⁴, so no digit
    /// is lost. Doubles that are too large or too small for that are left to the query engine.
    /// - Parameters:
    ///   - doubt: The documents that meet the condition but may not match.
    ///   - measuring: Whether lists are only measured: Postgres would make one of a gigabyte before it fails.
    func sql(
        _ table: String, where condition: String, doubt: String?, limit: Int, measuring: Bool = false
    ) -> String {
        var found = ["t.body as b"]
        var derived: [String] = []
        var doubles: [String] = []
        var outer: [String] = []
        // The conditions under which the query engine might give another result than this statement.
        var hard = doubt.map { [$0] } ?? []
        var harder: [String] = []
        for (place, key) in keys.enumerated() {
            hard += FilterTranslation.arraysAbove(key.path)
            let value = FilterTranslation.value(at: key.path)
            if let bin = key.bin {
                let moment = "(\(value)->>'$date')::numeric"
                found.append(
                    """
                    case when jsonb_typeof(\(value)->'$date') = 'number'
                        then (floor(\(moment) / \(bin.milliseconds)) * \(bin.milliseconds))::text end as g\(place)
                    """)
                hard.append(
                    """
                    coalesce(jsonb_typeof(\(value)), 'null') <> 'null' and (jsonb_typeof(\(value)->'$date') = 'number'
                        and \(moment) >= \(bin.moments.lowerBound) and \(moment) < \(bin.moments.upperBound)) is not true
                    """)
                outer += ["g\(place)", "false"]
                continue
            }
            found.append("(\(value))::text collate \"C\" as g\(place)")
            // Only the forms of numbers begin with a sign or a digit.
            let isNumber = "g\(place) >= '-' and g\(place) < ':'"
            outer += ["g\(place)", Self.any("\(isNumber) and \(Self.isLong(key.path))")]
        }
        for (place, number) in numbers.enumerated() {
            found.append("\(FilterTranslation.value(at: number.path)) as x\(place)")
            derived.append("case when jsonb_typeof(x\(place)) = 'number' then x\(place)::numeric end as n\(place)")
            doubles.append("case when not (\(Self.isWhole("n\(place)"))) then n\(place)::float8 end as d\(place)")
            outer += Self.sums(number, place)
            hard += FilterTranslation.arraysAbove(number.path)
            harder += [
                """
                n\(place) is null and jsonb_typeof(x\(place)) = 'object'
                    and x\(place) ?| array['$numberLong', '$numberDouble', '$numberDecimal']
                """,
                "abs(d\(place)) >= \(Self.unit) or abs(d\(place)) < \(Self.least) and d\(place) <> 0",
            ]
        }
        for (place, path) in extremes.enumerated() {
            found.append("\(FilterTranslation.value(at: path)) as e\(place)")
            derived += Self.comparable("e\(place)", path, place)
            outer += [
                "bit_or(k\(place))", "min(v\(place))::text", "max(v\(place))::text", "min(s\(place))", "max(s\(place))",
            ]
            hard += FilterTranslation.arraysAbove(path)
        }
        for (place, path) in lists.enumerated() {
            // From the body, which has the types of numbers and the order of fields.
            let value = path.reduce("t.body") { $0 + "->" + FilterTranslation.literal($1) }
            found.append("case when not (\(Self.hasNUL)) then \(value) end as l\(place)")
            outer += [
                "coalesce(sum(octet_length(l\(place)::text)), 0)",
                measuring
                    ? "null::text" : "(json_agg(l\(place) order by place) filter (where l\(place) is not null))::text",
            ]
            hard += FilterTranslation.arraysAbove(path)
        }
        if !lists.isEmpty { hard.append(Self.hasNUL) }
        if isOrdered { found.append("t.natural_order as place") }
        if hasEnds { outer += ["min(place) as first_place", "max(place) as last_place"] }
        if !hard.isEmpty {
            found.append("(\(Set(hard).sorted().map { "(\($0))" }.joined(separator: " or "))) as h")
            harder.append("h")
        }
        // The optimization fences keep Postgres from evaluating an expression again wherever its name occurs. The offset must
        // already be a constant of the right type: `offset 0` would be converted, and then Postgres wouldn't run the statement in
        // parallel.
        let fence = "offset bigint '0'"
        let source = [derived, doubles].filter { !$0.isEmpty }.reduce(
            "(select \(found.joined(separator: ", ")) from \(table) t where \(condition) \(fence))"
        ) { "(select s.*, \($1.joined(separator: ", ")) from \($0) s \(fence))" }
        let groups = keys.indices.map { "g\($0)" }.joined(separator: ", ")
        let grouped = """
            select count(*), \(harder.isEmpty ? "false" : Self.any(harder.joined(separator: " or ")))
                \(outer.map { ", " + $0 }.joined())
            from \(source) n\(groups.isEmpty ? "" : " group by \(groups)") limit \(limit)
            """
        guard hasEnds else { return grouped }
        let ends = ["first_place", "last_place"].map { place in
            "(select d.body from \(table) d where d.natural_order = g.\(place))"
        }
        return "select g.*, \(ends.joined(separator: ", ")) from (\(grouped)) g"
    }

    /// The types whose values are compared as numbers and texts: for `k`, whose bits are those of all values of a group.
    enum Kind: Int {
        case int32 = 1, int64 = 2, double = 4, date = 8, text = 16
        case other = 32
    }

    /// The columns for the extremes at a path: the kind of the value, its number, its text.
    private static func comparable(_ value: String, _ path: [String], _ place: Int) -> [String] {
        let date = "jsonb_typeof(\(value)->'$date') = 'number'"
        return [
            """
            case jsonb_typeof(\(value))
            when 'number' then case when not (\(isWhole("\(value)::numeric"))) then \(Kind.double.rawValue)
                when \(isLong(path)) then \(Kind.int64.rawValue) else \(Kind.int32.rawValue) end
            when 'string' then case when strpos(b::text, '{"$symbol":') > 0 then \(Kind.other.rawValue)
                else \(Kind.text.rawValue) end
            when 'object' then case when \(date) then \(Kind.date.rawValue) else \(Kind.other.rawValue) end
            when 'boolean' then \(Kind.other.rawValue) when 'array' then \(Kind.other.rawValue) else 0 end as k\(place)
            """,
            """
            case when jsonb_typeof(\(value)) = 'number' then \(value)::numeric
                when \(date) then (\(value)->>'$date')::numeric end as v\(place)
            """,
            "case when jsonb_typeof(\(value)) = 'string' then \(value) #>> '{}' end collate \"C\" as s\(place)",
        ]
    }

    /// Whether a body's strings may have U+0000, for which `->` refuses it.
    private static let hasNUL = "strpos(t.body::text, '\\u0000') > 0"

    /// Whether a number of the form `document` is an integer, and not a double.
    private static func isWhole(_ number: String) -> String {
        "scale(\(number)) = 0 and \(number) between -9007199254740992 and 9007199254740992"
    }

    /// The columns of a number: its value is in `n` and, unless it is an integer, also in `d`.
    private static func sums(
        _ number: (path: [String], isSummed: Bool, isAveraged: Bool), _ place: Int
    ) -> [String] {
        let (n, d) = ("n\(place)", "d\(place)")
        let fraction = "((\(d) - trunc(\(d))) * \(unit))"
        return [
            number.isAveraged ? "count(\(n))" : "0::bigint",
            "sum(\(n)) filter (where \(d) is null)",
            number.isSummed ? any("\(n) is not null and \(d) is null and \(isLong(number.path))") : "false",
            "sum(trunc(\(d))::bigint) filter (where abs(\(d)) < \(unit))",
            "sum(trunc(\(fraction))::bigint) filter (where \(d) is not null)",
            "sum(((\(fraction) - trunc(\(fraction))) * \(unit))::bigint) filter (where abs(\(d)) < \(coarse))",
        ]
    }

    /// Whether a condition holds for any row of the group. The rows for which it doesn't, nearly all, are filtered out before the
    /// aggregate.
    private static func any(_ condition: String) -> String {
        "coalesce(bool_or(true) filter (where \(condition)), false)"
    }

    /// 2⁶².
    private static let unit = "4611686018427387904::float8"

    /// 2⁻¹⁰: from here on the last digit of a double is no less than 2⁻⁶².
    private static let coarse = "0.0009765625::float8"

    /// 2⁻⁷²: from here on it is no less than 2⁻¹²⁴.
    private static let least = "2.117582368135750848e-22::float8"

    /// Whether the integer at the path has 64 bits. The text is searched for first: parsing a body takes longer than all the rest.
    private static func isLong(_ path: [String]) -> String {
        var name: [UInt8] = []
        ExtendedJSON.append(string: path[path.count - 1], to: &name)
        let text = FilterTranslation.literal(String(decoding: name, as: UTF8.self) + ":{\"$numberLong\":")
        // `json` can't extract a field of a text with U+0000 in a string; replacing that character doesn't affect the result.
        let body =
            "(case when strpos(b::text, '\\u0000') > 0 then replace(b::text, '\\u0000', '\\u0001')::json else b end)"
        let value = path.reduce(body) { $0 + "->" + FilterTranslation.literal($1) }
        return "strpos(b::text, \(text)) > 0 and \(value)->>'$numberLong' is not null"
    }
}

import DocumentModel
import Postgres

extension GroupTranslation {
    /// The settings for the grouping. Without them Postgres would choose to sort, since it has no statistics of the expressions.
    static let settings: PostgresStatement = """
        select set_config('enable_sort', 'off', true), set_config('work_mem', '64MB', true), set_config('jit', 'off', true)
        """

    /// The number of a row's columns: before the keys, for each key, and for each number.
    static let columns = (first: 2, key: 2, number: 6)

    /// A statement that Postgres can run in parallel: all its aggregates can be combined from partial results.
    ///
    /// The integral and the fractional parts of doubles are added as integers, the latter in units of 2⁻⁶² and 2⁻¹²⁴, so no digit
    /// is lost. Doubles that are too large or too small for that are left to the query engine.
    /// - Parameter doubt: The documents that meet the condition but may not match.
    func sql(_ table: String, where condition: String, doubt: String?, limit: Int) -> String {
        var found = ["t.body as b"]
        var decimals: [String] = []
        var doubles: [String] = []
        var outer: [String] = []
        // The conditions under which the query engine might give another result than this statement.
        var hard = doubt.map { [$0] } ?? []
        var harder: [String] = []
        for (place, key) in keys.enumerated() {
            found.append("(\(FilterTranslation.value(at: key.path)))::text collate \"C\" as g\(place)")
            // Only the forms of numbers begin with a sign or a digit.
            let isNumber = "g\(place) >= '-' and g\(place) < ':'"
            outer += ["g\(place)", Self.any("\(isNumber) and \(Self.isLong(key.path))")]
            hard += FilterTranslation.arraysAbove(key.path)
        }
        for (place, number) in numbers.enumerated() {
            found.append("\(FilterTranslation.value(at: number.path)) as x\(place)")
            decimals.append("case when jsonb_typeof(x\(place)) = 'number' then x\(place)::numeric end as n\(place)")
            doubles.append(
                """
                case when not (scale(n\(place)) = 0 and n\(place) between -9007199254740992 and 9007199254740992)
                    then n\(place)::float8 end as d\(place)
                """)
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
        if !hard.isEmpty {
            found.append("(\(Set(hard).sorted().joined(separator: " or "))) as h")
            harder.append("h")
        }
        // The optimization fences keep Postgres from evaluating an expression again wherever its name occurs. The offset must
        // already be a constant of the right type: `offset 0` would be converted, and then Postgres wouldn't run the statement in
        // parallel.
        let fence = "offset bigint '0'"
        let source = [decimals, doubles].filter { !$0.isEmpty }.reduce(
            "(select \(found.joined(separator: ", ")) from \(table) t where \(condition) \(fence))"
        ) { "(select s.*, \($1.joined(separator: ", ")) from \($0) s \(fence))" }
        let groups = keys.indices.map { "g\($0)" }.joined(separator: ", ")
        return """
            select count(*), \(harder.isEmpty ? "false" : Self.any(harder.joined(separator: " or ")))
                \(outer.map { ", " + $0 }.joined())
            from \(source) n\(groups.isEmpty ? "" : " group by \(groups)") limit \(limit)
            """
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

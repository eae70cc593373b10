import DocumentModel
import Postgres

extension GroupTranslation {
    /// What the grouping needs; sorting by expressions that Postgres has no statistics of is what it would choose.
    static let settings: PostgresStatement = """
        select set_config('enable_sort', 'off', true), set_config('work_mem', '64MB', true), set_config('jit', 'off', true)
        """

    /// The columns of a row before those of the keys, those of a key, and those of a number.
    static let columns = (first: 2, key: 2, number: 6)

    /// A statement that several processes can share: all its aggregates are made of parts.
    ///
    /// Of doubles what is before the point and what is behind it are added as integers, the latter in units of 2⁻⁶² and 2⁻¹²⁴: no digit is
    /// lost. Those too large or too small for that are left to the engine.
    /// - Parameter doubt: of what meets the condition, that which may not match.
    func sql(_ table: String, where condition: String, doubt: String?, limit: Int) -> String {
        var found = ["t.body as b"]
        var decimals: [String] = []
        var doubles: [String] = []
        var outer: [String] = []
        // What the engine would look at in another way than this statement.
        var hard = doubt.map { [$0] } ?? []
        var harder: [String] = []
        for (place, key) in keys.enumerated() {
            found.append("(\(Self.expression(key.path)))::text collate \"C\" as g\(place)")
            // Of all forms only numbers begin with a sign or a digit.
            let isNumber = "g\(place) >= '-' and g\(place) < ':'"
            outer += ["g\(place)", Self.any("\(isNumber) and \(Self.isLong(key.path))")]
            hard += Self.arraysAbove(key.path)
        }
        for (place, number) in numbers.enumerated() {
            found.append("\(Self.expression(number.path)) as x\(place)")
            decimals.append("case when jsonb_typeof(x\(place)) = 'number' then x\(place)::numeric end as n\(place)")
            doubles.append(
                """
                case when not (scale(n\(place)) = 0 and n\(place) between -9007199254740992 and 9007199254740992)
                    then n\(place)::float8 end as d\(place)
                """)
            outer += Self.sums(number, place)
            hard += Self.arraysAbove(number.path)
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
        // The fences keep Postgres from working an expression out again wherever its name stands; one that isn't a constant as it is
        // written (`offset 0` would be converted) keeps it from sharing the work.
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

    /// The columns of a number, which is `n` and, unless it is an integer, `d`.
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

    /// Whether a condition holds for a row of the group. Rows for which it doesn't, nearly all, stay out of the aggregate.
    private static func any(_ condition: String) -> String {
        "coalesce(bool_or(true) filter (where \(condition)), false)"
    }

    /// 2⁶².
    private static let unit = "4611686018427387904::float8"

    /// 2⁻¹⁰: from here on the last digit of a double is no less than 2⁻⁶².
    private static let coarse = "0.0009765625::float8"

    /// 2⁻⁷²: from here on it is no less than 2⁻¹²⁴.
    private static let least = "2.117582368135750848e-22::float8"

    private static func expression(_ path: some Collection<String>) -> String {
        path.reduce("t.document") { $0 + "->" + FilterTranslation.literal($1) }
    }

    /// In an array a path leads to several values.
    private static func arraysAbove(_ path: [String]) -> [String] {
        path.indices.dropFirst().map { "jsonb_typeof(\(expression(path.prefix($0)))) = 'array'" }
    }

    /// Whether the integer at the path has 64 bits. The text is looked for first: reading a body takes longer than all the rest.
    private static func isLong(_ path: [String]) -> String {
        var name: [UInt8] = []
        ExtendedJSON.append(string: path[path.count - 1], to: &name)
        let text = FilterTranslation.literal(String(decoding: name, as: UTF8.self) + ":{\"$numberLong\":")
        // `json` finds no field of a text with U+0000 in a string; another character there changes nothing of the rest.
        let body =
            "(case when strpos(b::text, '\\u0000') > 0 then replace(b::text, '\\u0000', '\\u0001')::json else b end)"
        let value = path.reduce(body) { $0 + "->" + FilterTranslation.literal($1) }
        return "strpos(b::text, \(text)) > 0 and \(value)->>'$numberLong' is not null"
    }
}

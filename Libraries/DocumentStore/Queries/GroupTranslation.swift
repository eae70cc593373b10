import DocumentModel
import Postgres
import QueryLanguage

/// A `$group` that Postgres can do with exactly the engine's result: by paths, with sums, averages and counts.
///
/// The form `document` tells doubles from integers by the digits behind the point, which `jsonb` keeps; whether an integer is one of
/// 32 or 64 bits only the body does, in which the field is looked for as text first. Integers are added up by Postgres. Doubles come back
/// one by one, so that they are added as the engine adds them: their decimal sum would be another one.
struct GroupTranslation: Sendable {
    private enum Output: Sendable {
        /// A number for each document.
        case constant(Int64)
        case sum(place: Int)
        case average(place: Int)
    }

    /// By what documents are grouped, with the field's name where `_id` is a document.
    private let keys: [(name: String?, path: [String])]
    private let outputs: [(name: String, output: Output)]
    /// What is added up.
    private var numbers: [[String]] = []

    /// `nil` for a `$group` that is none of these.
    init?(_ group: Document) {
        var outputs: [(String, Output)] = []
        var numbers: [[String]] = []
        func place(_ path: [String]) -> Int {
            if let known = numbers.firstIndex(of: path) { return known }
            numbers.append(path)
            return numbers.count - 1
        }
        for field in group.fields where field.key != "_id" {
            guard let accumulator = field.value.documentValue, accumulator.count == 1,
                let (name, argument) = accumulator.fields.first.map({ ($0.key, $0.value) })
            else { return nil }
            switch (name, argument) {
            case ("$count", _): outputs.append((field.key, .constant(1)))
            case ("$sum", .int32(let number)): outputs.append((field.key, .constant(Int64(number))))
            case ("$sum", .string(let text)):
                guard let path = Self.path(text) else { return nil }
                outputs.append((field.key, .sum(place: place(path))))
            case ("$avg", .string(let text)):
                guard let path = Self.path(text) else { return nil }
                outputs.append((field.key, .average(place: place(path))))
            default: return nil
            }
        }
        guard let id = group["_id"], let keys = Self.keys(id) else { return nil }
        self.keys = keys
        self.outputs = outputs
        self.numbers = numbers
    }

    private static func keys(_ id: Value) -> [(name: String?, path: [String])]? {
        switch id {
        case .null: return []
        case .string(let text): return path(text).map { [(nil, $0)] }
        case .document(let parts) where !parts.isEmpty && parts.fields[0].key.utf8.first != UInt8(ascii: "$"):
            var keys: [(name: String?, path: [String])] = []
            for field in parts.fields {
                guard case .string(let text) = field.value, let path = path(text) else { return nil }
                keys.append((field.key, path))
            }
            return keys
        default: return nil
        }
    }

    /// The components of `$a.b`; `nil` for what is no path of the document.
    private static func path(_ text: String) -> [String]? {
        guard text.hasPrefix("$"), !text.hasPrefix("$$"), !text.utf8.contains(0) else { return nil }
        let parts = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        return parts.contains("") ? nil : parts
    }

    // MARK: SQL

    /// What the grouping needs; sorting by expressions that Postgres has no statistics of is what it would choose.
    static let settings: PostgresStatement = """
        select set_config('enable_sort', 'off', true), set_config('work_mem', '64MB', true), set_config('jit', 'off', true)
        """

    /// - Parameter doubt: of what meets the condition, that which may not match.
    func sql(_ table: String, where condition: String, doubt: String?, limit: Int) -> String {
        var inner: [String] = ["t.body as b"]
        var middle: [String] = ["b"]
        var integers: [String] = []
        var outer: [String] = []
        // What the engine would look at in another way than this statement.
        var hard: [String] = doubt.map { [$0] } ?? []
        for (place, key) in keys.enumerated() {
            inner.append("\(Self.expression(key.path)) as k\(place)")
            middle += ["k\(place)", "k\(place)::text collate \"C\" as g\(place)"]
            outer += [
                "g\(place)",
                "bool_or(case when jsonb_typeof(k\(place)) = 'number' then \(Self.isLong(key.path)) else false end)",
            ]
            hard += Self.arraysAbove(key.path)
        }
        for (place, path) in numbers.enumerated() {
            inner.append("\(Self.expression(path)) as x\(place)")
            middle += [
                "case when jsonb_typeof(x\(place)) = 'number' then x\(place)::numeric end as n\(place)",
                """
                jsonb_typeof(x\(place)) = 'object' and x\(place) ?| array['$numberLong', '$numberDouble', '$numberDecimal']
                    as o\(place)
                """,
            ]
            integers.append(
                "scale(n\(place)) = 0 and n\(place) between -9007199254740992 and 9007199254740992 as i\(place)")
            outer += [
                "count(n\(place))", "sum(n\(place)) filter (where i\(place))",
                "bool_or(case when i\(place) then \(Self.isLong(path)) else false end)",
                "encode(string_agg(float8send(n\(place)::float8), '') filter (where not i\(place)), 'hex')",
                "bool_or(o\(place))",
            ]
            hard += Self.arraysAbove(path)
        }
        let isHard = hard.isEmpty ? "false" : Set(hard).sorted().joined(separator: " or ")
        inner.append("(\(isHard)) is true as h")
        let groups = keys.indices.map { "g\($0)" }.joined(separator: ", ")
        // The fences keep Postgres from working an expression out again wherever its name stands.
        return """
            select count(*), bool_or(h)\(outer.map { ", " + $0 }.joined())
            from (
                select m.*\(integers.map { ", " + $0 }.joined())
                from (
                    select h, \(middle.joined(separator: ", "))
                    from (select \(inner.joined(separator: ", ")) from \(table) t where \(condition) offset 0) e offset 0
                ) m offset 0
            ) n\(groups.isEmpty ? "" : " group by \(groups)") limit \(limit)
            """
    }

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

    // MARK: Results

    /// The groups of the statement's rows; `nil` where the engine has to look at the documents.
    func documents(of rows: PostgresRows) throws -> [Document]? {
        var places: [Value: Int] = [:]
        var groups: [Group] = []
        for row in rows {
            let count = try row.decode(0, as: Int64.self)
            // Without keys there is a row of no documents too.
            if count == 0 { continue }
            guard try row.decode(1, as: Bool?.self) != true, let id = try id(of: row) else { return nil }
            let place = places[id] ?? groups.count
            if place == groups.count {
                places[id] = place
                groups.append(Group(id: id, sums: numbers.map { _ in Total() }))
            }
            groups[place].count += count
            for number in numbers.indices {
                guard try groups[place].sums[number].add(row, from: 2 + keys.count * 2 + number * 5) else { return nil }
            }
        }
        var documents: [Document] = []
        documents.reserveCapacity(groups.count)
        for group in groups {
            guard let document = document(of: group) else { return nil }
            documents.append(document)
        }
        return documents
    }

    private struct Group {
        var id: Value
        var count: Int64 = 0
        var sums: [Total]
    }

    private struct Total {
        var count: Int64 = 0
        var sum = NumericSum()

        mutating func add(_ row: PostgresRow, from column: Int) throws -> Bool {
            if try row.decode(column + 4, as: Bool?.self) == true { return false }
            count += try row.decode(column, as: Int64.self)
            if let text = try row.decode(column + 1, as: String?.self) {
                guard let total = Int64(text) else { return false }
                let isLong = try row.decode(column + 2, as: Bool?.self) == true
                // A sum that has no place in 32 bits is of 64, whatever it was made of.
                sum.add(isLong ? .int64(total) : .integer(total))
            }
            if let doubles = try row.decode(column + 3, as: String?.self) {
                for double in Hexadecimal.doubles(doubles) { sum.add(.double(double)) }
            }
            return true
        }
    }

    private func document(of group: Group) -> Document? {
        var document: Document = ["_id": group.id]
        for (name, output) in outputs {
            switch output {
            case .constant(let number):
                let (total, overflow) = number.multipliedReportingOverflow(by: group.count)
                if overflow { return nil }
                document[name] = .integer(total)
            case .sum(let place): document[name] = group.sums[place].sum.value
            case .average(let place):
                let total = group.sums[place]
                document[name] =
                    total.count == 0 ? .null : .double(total.sum.doubleTotal / Double(total.count))
            }
        }
        return document
    }

    private func id(of row: PostgresRow) throws -> Value? {
        var parts = Document()
        for (place, key) in keys.enumerated() {
            guard let text = try row.decode(2 + place * 2, as: String?.self) else {
                // What is missing is grouped with null, and is no field of a document.
                if key.name == nil { return .null }
                continue
            }
            let isLong = try row.decode(3 + place * 2, as: Bool?.self) == true
            guard let value = Self.value(text, isLong: isLong) else { return nil }
            guard let name = key.name else { return value }
            parts[name] = value
        }
        return keys.isEmpty ? .null : .document(parts)
    }

    /// The value that has this plain form; `nil` where it isn't the only one.
    private static func value(_ text: String, isLong: Bool) -> Value? {
        // What can't be read, the engine reads from the body.
        guard let value = try? ExtendedJSON.parse(text) else { return nil }
        switch value {
        case .string, .bool, .null, .objectId, .date: return value
        case .int32(let number): return isLong ? .int64(Int64(number)) : value
        case .int64(let number): return number.magnitude <= 1 << 53 ? value : .double(Double(number))
        case .double(let number): return number == 0 ? nil : value
        default: return nil
        }
    }
}

/// Postgres' text of `bytea`.
private enum Hexadecimal {
    /// Doubles of 16 digits each, as `float8send` has them.
    static func doubles(_ text: String) -> [Double] {
        var doubles: [Double] = []
        doubles.reserveCapacity(text.utf8.count / 16)
        var bits: UInt64 = 0
        var count = 0
        for byte in text.utf8 {
            bits = bits << 4 | UInt64(byte < 0x3A ? byte &- 0x30 : byte &- 0x57)
            count += 1
            if count == 16 {
                doubles.append(Double(bitPattern: bits))
                (bits, count) = (0, 0)
            }
        }
        return doubles
    }
}

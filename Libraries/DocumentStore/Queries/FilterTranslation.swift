import DocumentModel
import Postgres
import QueryLanguage
import RegularExpressions
import SyncEngine

/// A filter as an SQL condition that every matching document meets. If it is exact, no other document meets it; if not, the filter
/// itself is applied to the documents that Postgres returns.
///
/// `jsonb` orders Null < String < Number < Boolean < Array < Object, so the arrays, whose elements may match, form a range, and so
/// do the values that stay Extended JSON (decimals, large integers). All these conditions can use an expression index on the path.
///
/// A second condition (`certain`) is met only by documents that certainly match: negations are built from it, and counts and groups
/// have to examine only the documents between the two conditions.
struct FilterTranslation: Sendable {
    /// A condition on the table alias `t`, with its parameters from `$n` on.
    struct Condition: Sendable {
        var sql: String
        var isExact: Bool
    }

    var parameters: [PostgresValue]
    private let partitionKey: String?
    var indexes: [CollectionIndex]
    private let hint: String?
    /// Whether the statement finds only documents whose `_id` has a key text.
    var hasOnlyKeyTexts = false
    /// How many more parts of filters are translated. The contents of a negation, and of a conjunct with an index, are translated
    /// twice, so each level of nesting would double the time.
    private var stepsLeft = 200_000
    /// The indexes that conditions were built for.
    private(set) var used: [CollectionIndex] = []

    /// - Parameters:
    ///   - indexes: The indexes of the collection.
    ///   - parameters: The parameters that the statement has already.
    ///   - hint: The name of the only index to use.
    init(
        partitionKey: String?, indexes: [CollectionIndex] = [], parameters: [PostgresValue] = [], hint: String? = nil
    ) {
        self.partitionKey = partitionKey
        self.indexes = indexes
        self.parameters = parameters
        self.hint = hint
    }

    /// The condition of a filter; `true` if SQL can't express any of it.
    mutating func translate(_ filter: Filter) -> Condition {
        // A collation changes which strings are equal.
        if filter.collation != nil { return Condition(sql: "true", isExact: false) }
        return translateConjunction(filter.node) ?? Condition(sql: "true", isExact: false)
    }

    /// The condition of a filter or a branch of `$or`, with that of an index that helps to find what meets it.
    private mutating func translateConjunction(_ node: FilterNode) -> Condition? {
        let nodes = if case .and(let nodes) = node { nodes } else { [node] }
        let plan = IndexPlan.best(of: indexes, for: nodes, hint: hint)
        // A range may contain everything; a text of three letters and more is rare.
        if plan.map({ $0.points == 0 }) ?? true, let trigrams = TrigramPlan.best(of: indexes, for: nodes, hint: hint) {
            used.append(trigrams.index)
            let found = trigrams.condition { bind($0) }
            return Condition(sql: translate(node).map { "\(found) and (\($0.sql))" } ?? found, isExact: false)
        }
        guard let plan else { return translate(node) }
        used.append(plan.index)
        let bound = parameters.count
        let all = translate(node)
        if let all, all.isExact {
            return Condition(sql: "\(plan.condition { bind($0) }) and (\(all.sql))", isExact: true)
        }
        parameters.removeLast(parameters.count - bound)
        let found = plan.condition { bind($0) }
        // The index's condition isn't repeated, since that would mislead the planner's row estimate.
        let rest = nodes.filter { !plan.covers($0) }
        let plain = rest.isEmpty ? nil : translate(.and(rest))
        return Condition(sql: plain.map { "\(found) and (\($0.sql))" } ?? found, isExact: false)
    }

    /// The condition of the conjuncts on paths other than those.
    mutating func translate(_ filter: Filter, except paths: Set<ExactText>) -> String {
        let nodes = if case .and(let nodes) = filter.node { nodes } else { [filter.node] }
        let rest = nodes.filter { if case .field(let path, _) = $0 { !paths.contains(path.description) } else { true } }
        return translateConjunction(.and(rest))?.sql ?? "true"
    }

    mutating func bind(_ value: PostgresValue) -> String {
        parameters.append(value)
        return "$\(parameters.count)"
    }

    /// Returns `nil` if SQL can't express the condition.
    mutating func translate(_ node: FilterNode) -> Condition? {
        let bound = parameters.count
        let condition = condition(of: node)
        // Postgres refuses a statement with parameters that it doesn't use.
        if condition == nil { parameters.removeLast(parameters.count - bound) }
        return condition
    }

    /// Whether one more part may be translated; the others are left to the filter.
    /// - Parameter path: The path of the part, whose prefixes each occur in the condition.
    mutating func step(_ path: Path? = nil) -> Bool {
        let parts = path?.components.count ?? 1
        stepsLeft -= parts > 8 ? parts * parts : 1
        return stepsLeft >= 0
    }

    mutating func condition(of node: FilterNode) -> Condition? {
        guard step() else { return nil }
        switch node {
        case .and(let nodes):
            let parts = nodes.map { translate($0) }
            let known = parts.compactMap { $0 }
            if known.isEmpty { return nodes.isEmpty ? Condition(sql: "true", isExact: true) : nil }
            return Condition(
                sql: known.map { "(\($0.sql))" }.joined(separator: " and "),
                isExact: known.count == parts.count && known.allSatisfy(\.isExact))
        case .or(let nodes):
            var parts: [Condition] = []
            for node in nodes {
                guard let part = translateConjunction(node) else { return nil }
                parts.append(part)
            }
            if parts.isEmpty { return nil }
            return Condition(
                sql: parts.map { "(\($0.sql))" }.joined(separator: " or "), isExact: parts.allSatisfy(\.isExact))
        case .field(let path, .not(let condition)): return negation(of: .field(path, condition))
        case .field(let path, let condition): return translate(condition, at: path)
        case .constant(let flag): return Condition(sql: flag ? "true" : "false", isExact: true)
        case .nor(let nodes): return negation(of: .or(nodes))
        case .expression, .schema: return nil
        }
    }

    /// A document that doesn't certainly meet a condition may meet its negation.
    private mutating func negation(of node: FilterNode) -> Condition? {
        let bound = parameters.count
        let used = used.count
        if let condition = condition(of: node), condition.isExact {
            return Condition(sql: "(\(condition.sql)) is not true", isExact: true)
        }
        parameters.removeLast(parameters.count - bound)
        self.used.removeLast(self.used.count - used)
        return certain(node).map { Condition(sql: "(\($0)) is not true", isExact: false) }
    }

    private mutating func translate(_ condition: FieldCondition, at path: Path) -> Condition? {
        if path.components.count == 1, path.components[0].name == "_id" { return translateId(condition) }
        // A number in a path may be an index or a name.
        if path.components.contains(where: { $0.index != nil || $0.name.utf8.contains(0) }) { return nil }
        guard step(path) else { return nil }
        if case .allOf(let conditions) = condition {
            return translate(.and(conditions.map { .field(path, $0) }))?.inexact
        }
        let value = Self.value(at: path.components.map(\.name))
        let exact = path.components.count == 1 ? exactComparison(condition, of: value) : nil
        guard var sql = exact ?? comparison(condition, of: value) else { return nil }
        if let partitionKey, path.components.count == 1, path.components[0].name == partitionKey,
            case .equal(let wanted) = condition, let text = wanted.keyText, !text.utf8.contains(0)
        {
            // In an internal partition the field may be an array that contains the value.
            sql = "t.partition = \(bind(.text(text))) or (t.partition >= 'i:' and t.partition < 'i;' and (\(sql)))"
        }
        for array in Self.arraysAbove(path.components.map(\.name)) { sql += " or " + array }
        return Condition(sql: sql, isExact: exact != nil)
    }

    /// The exact condition on a top-level field: for values whose plain form no other value has, at the field or in an array.
    private mutating func exactComparison(_ condition: FieldCondition, of value: String) -> String? {
        switch condition {
        case .exists: return "\(value) is not null"
        case .equal(let wanted):
            guard Self.isUnmistakable(wanted), let plain = Self.plain(wanted) else { return nil }
            let bound = "\(bind(.utf8(plain)))::jsonb"
            return
                "\(value) = \(bound) or (jsonb_typeof(\(value)) = 'array' and \(value) @> jsonb_build_array(\(bound)))"
        case .in(let wanted, let expressions):
            guard expressions.isEmpty, !wanted.isEmpty, wanted.allSatisfy(Self.isUnmistakable) else { return nil }
            let plains = wanted.map { Self.plain($0) }
            guard plains.allSatisfy({ $0 != nil }) else { return nil }
            let bound = "\(bind(.utf8Array(plains)))::jsonb[]"
            return "\(value) = any(\(bound)) or case when jsonb_typeof(\(value)) = 'array' then exists "
                + "(select from jsonb_array_elements(\(value)) e where e = any(\(bound))) else false end"
        default: return nil
        }
    }

    /// Whether only this value has its plain form; numbers have several forms.
    static func isUnmistakable(_ value: Value) -> Bool {
        switch value {
        case .string, .bool, .objectId, .date, .binary: true
        default: false
        }
    }

    private static func isPlainThroughout(_ value: Value) -> Bool {
        switch value {
        case .document(let document):
            document.fields.allSatisfy { !$0.key.utf8.contains(0) && isPlainThroughout($0.value) }
        case .array(let elements): elements.allSatisfy { isPlainThroughout($0) }
        default: isUnmistakable(value) && plain(value) != nil
        }
    }

    /// The value at a path. Names are part of the text, quoted, and not parameters, so that an index on the same expression is
    /// recognised.
    static func value(at path: some Collection<String>) -> String {
        path.reduce("t.document") { $0 + "->" + literal($1) }
    }

    /// The conditions that an array is above the path's end, through which the path leads to several values.
    static func arraysAbove(_ path: [String]) -> [String] {
        path.indices.dropFirst().map { "jsonb_typeof(\(value(at: path.prefix($0)))) = 'array'" }
    }

    static func literal(_ name: String) -> String {
        // Most names need no escapes, and searching for replacements costs more than the rest of a translation.
        if !name.utf8.contains(where: { $0 == UInt8(ascii: "'") || $0 == UInt8(ascii: "\\") }) { return "'\(name)'" }
        return name.utf8.contains(UInt8(ascii: "\\"))
            ? "E'" + name.replacing("\\", with: "\\\\").replacing("'", with: "''") + "'"
            : "'" + name.replacing("'", with: "''") + "'"
    }

    private mutating func comparison(_ condition: FieldCondition, of value: String) -> String? {
        let array = "(\(value) > 'true'::jsonb and \(value) < '{}'::jsonb)"
        let arrayOrWrapper = "\(value) > 'true'::jsonb"
        switch condition {
        case .equal(.null): return "\(value) is null or \(value) = 'null'::jsonb or \(arrayOrWrapper)"
        // In `jsonb` an empty array is the smallest of all values.
        case .equal(.array): return "jsonb_typeof(\(value)) = 'array'"
        case .equal(.document(let document)):
            // `jsonb` ignores the order of fields; the filter checks it.
            guard Self.isPlainThroughout(.document(document)) else { return nil }
            return "\(value) = \(bind(.utf8(PlainForm.bytes(of: .document(document)))))::jsonb or \(array)"
        case .equal(let wanted) where wanted.isWrappedNumber:
            return "jsonb_typeof(\(value)) = 'number' or \(arrayOrWrapper)"
        case .equal(let wanted):
            guard let plain = Self.plain(wanted) else { return nil }
            return "\(value) = \(bind(.utf8(plain)))::jsonb or \(wanted.isNumber ? arrayOrWrapper : array)"
        case .in(let wanted, let expressions):
            guard expressions.isEmpty else { return nil }
            var plains: [[UInt8]?] = []
            for value in wanted where value != .null {
                guard let plain = Self.plain(value) else { return nil }
                plains.append(plain)
            }
            let hasNull = wanted.contains(.null)
            var others = hasNull || wanted.contains(where: \.isNumber) ? arrayOrWrapper : array
            if wanted.contains(where: \.isWrappedNumber) { others += " or jsonb_typeof(\(value)) = 'number'" }
            return "\(value) = any(\(bind(.utf8Array(plains)))::jsonb[]) or \(others)"
                + (hasNull ? " or \(value) is null or \(value) = 'null'::jsonb" : "")
        case .compare(let comparison, .string(let text)):
            guard let plain = text.utf8.contains(0) ? nil : text else { return nil }
            // MongoDB compares bytes. A string with U+0000 is an object here.
            return
                "case when jsonb_typeof(\(value)) = 'string' then (\(value) #>> '{}') collate \"C\" \(comparison.sql) "
                + "\(bind(.text(plain))) else \(arrayOrWrapper) end"
        case .compare(_, let wanted) where wanted.isWrappedNumber:
            return "jsonb_typeof(\(value)) = 'number' or \(arrayOrWrapper)"
        case .compare(_, .date(let milliseconds)) where !Value.plainIntegers.contains(milliseconds):
            return arrayOrWrapper
        case .compare(let comparison, let wanted):
            guard let plain = Self.plain(wanted) else { return nil }
            let isUpper = comparison == .greater || comparison == .greaterOrEqual
            let compared = "\(value) \(comparison.sql) \(bind(.utf8(plain)))::jsonb"
            switch wanted {
            case .int32, .int64, .double: return "\(compared) or \(arrayOrWrapper)"
            case .objectId: return "(\(compared) and \(value) >= '{}'::jsonb) or \(array)"
            case .date:
                // A date beyond 2^53 milliseconds is {"$date": {…}}, above all others, however early it is.
                let far = isUpper ? "" : " or \(value) >= '{\"$date\": {}}'::jsonb"
                return "(\(compared) and \(value) >= '{}'::jsonb) or \(array)\(far)"
            default: return nil
            }
        case .regex(let regex):
            guard let required = RequiredText(of: regex.expression.pattern, options: regex.expression.options) else {
                return nil
            }
            let text = "(\(value) #>> '{}')"
            let searched = required.ignoresCase ? "partita.small_letters(\(text))" : text
            return
                "case when jsonb_typeof(\(value)) = 'string' then strpos(\(searched), \(bind(.text(required.text)))) > 0 "
                + "else \(arrayOrWrapper) end"
        case .exists: return "\(value) is not null"
        case .size, .elementMatches, .elementSatisfies: return "jsonb_typeof(\(value)) = 'array'"
        default: return nil
        }
    }

    /// The plain form of a scalar that has one.
    static func plain(_ value: Value) -> [UInt8]? {
        switch value {
        case .string(let text) where text.utf8.contains(0): return nil
        case .double(let number) where !number.isFinite: return nil
        case .string, .bool, .int32, .int64, .double, .date, .objectId, .binary:
            var bytes: [UInt8] = []
            PlainForm.append(value, to: &bytes)
            return bytes
        default: return nil
        }
    }

    /// `_id` is never an array, and the column has its key.
    mutating func translateId(_ condition: FieldCondition) -> Condition? {
        switch condition {
        case .equal(let value):
            guard let id = value.storableId else { return Condition(sql: "false", isExact: true) }
            return Condition(sql: "t._id = \(bind(.text(id)))", isExact: true)
        case .in(let values, let expressions):
            guard expressions.isEmpty else { return nil }
            return Condition(
                sql: "t._id = any(\(bind(.textArray(values.compactMap(\.storableId))))::text[])", isExact: true)
        case .exists: return Condition(sql: "true", isExact: true)
        case .compare(let comparison, let value):
            guard value.hasOrderedKey, let key = value.storableKey, let type = key.utf8.first else { return nil }
            let after = String(decoding: [type + 1], as: UTF8.self)
            let sql =
                "t._id \(comparison.sql) \(bind(.text(key))) and t._id > '\(key.prefix(2))' and t._id < '\(after)'"
            guard case .binary = value, !hasOnlyKeyTexts else { return Condition(sql: sql, isExact: true) }
            // Other binaries than UUIDs are compared with them, too.
            return Condition(sql: "(\(sql)) or t._id >= 'e:' and t._id < 'e;'", isExact: false)
        default: return nil
        }
    }
}

extension Value {
    /// Whether key texts of this value's type sort as the values do: not those of integers; dates and others have no key text.
    var hasOrderedKey: Bool { !isNumber && storableKey != nil }

    /// The integers that are numbers in the plain form.
    static let plainIntegers: ClosedRange<Int64> = -(1 << 53)...(1 << 53)

    /// Whether an integer's plain form isn't a number, although a double may equal it.
    var isWrappedNumber: Bool {
        if case .int64(let number) = self { return !Self.plainIntegers.contains(number) }
        return false
    }
}

extension FieldCondition.Comparison {
    var sql: String {
        switch self {
        case .greater: ">"
        case .greaterOrEqual: ">="
        case .less: "<"
        case .lessOrEqual: "<="
        }
    }
}

extension FilterTranslation.Condition {
    fileprivate var inexact: Self { Self(sql: sql, isExact: false) }
}

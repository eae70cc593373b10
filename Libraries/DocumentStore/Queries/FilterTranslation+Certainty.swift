import DocumentModel
import Postgres
import QueryLanguage

/// A filter as a condition that only matching documents meet; documents that don't meet it may match as well.
extension FilterTranslation {
    /// Returns `nil` if no such condition can be expressed.
    mutating func certain(_ filter: Filter) -> String? {
        filter.collation == nil ? certain(filter.node) : nil
    }

    mutating func certain(_ node: FilterNode) -> String? {
        let bound = parameters.count
        let sql = certainCondition(node)
        if sql == nil { parameters.removeLast(parameters.count - bound) }
        return sql
    }

    private mutating func certainCondition(_ node: FilterNode) -> String? {
        guard step() else { return nil }
        switch node {
        case .and(let nodes):
            var parts: [String] = []
            for node in nodes {
                guard let part = certain(node) else { return nil }
                parts.append("(\(part))")
            }
            return parts.isEmpty ? "true" : parts.joined(separator: " and ")
        case .or(let nodes):
            let parts = nodes.compactMap { certain($0).map { "(\($0))" } }
            return parts.isEmpty ? nil : parts.joined(separator: " or ")
        case .nor(let nodes): return certainNegation(of: .or(nodes))
        case .field(let path, .not(let condition)): return certainNegation(of: .field(path, condition))
        case .field(let path, let condition): return certain(condition, at: path)
        case .constant(let flag): return flag ? "true" : "false"
        case .expression, .schema: return nil
        }
    }

    /// A document that can't meet a condition certainly meets its negation.
    private mutating func certainNegation(of node: FilterNode) -> String? {
        // An index helps only to find documents that meet a condition, not its negation.
        let all = indexes
        indexes = []
        defer { indexes = all }
        return translate(node).map { "(\($0.sql)) is not true" }
    }

    private mutating func certain(_ condition: FieldCondition, at path: Path) -> String? {
        if path.components.count == 1, path.components[0].name == "_id" {
            return translateId(condition).flatMap { $0.isExact ? $0.sql : nil }
        }
        if path.components.contains(where: { $0.index != nil || $0.name.utf8.contains(0) }) { return nil }
        guard step(path) else { return nil }
        if case .allOf(let conditions) = condition { return certain(.and(conditions.map { .field(path, $0) })) }
        let value = Self.value(at: path.components.map(\.name))
        // `->` with a name finds nothing in an array, so if there is a value, no array is above it.
        switch condition {
        case .equal(.null):
            let above = Self.arraysAbove(path.components.map(\.name)).map { " and (\($0)) is not true" }
            return "(\(value) is null or \(value) = 'null'::jsonb)" + above.joined()
        case .equal(let wanted):
            guard Self.isUnmistakable(wanted) || wanted.isNumber, let plain = Self.plain(wanted) else { return nil }
            return "\(value) = \(bind(.utf8(plain)))::jsonb"
        case .in(let wanted, _):
            let plains = wanted.filter { Self.isUnmistakable($0) || $0.isNumber }.compactMap(Self.plain)
            return plains.isEmpty ? nil : "\(value) = any(\(bind(.utf8Array(plains)))::jsonb[])"
        case .compare(let comparison, let wanted): return certain(comparison, wanted, of: value)
        case .exists: return "\(value) is not null"
        case .size(let count):
            return
                "case when jsonb_typeof(\(value)) = 'array' then jsonb_array_length(\(value)) = \(count) else false end"
        default: return nil
        }
    }

    private mutating func certain(
        _ comparison: FieldCondition.Comparison, _ wanted: Value, of value: String
    ) -> String? {
        switch wanted {
        case .int32, .int64, .double:
            guard !wanted.isWrappedNumber, let plain = Self.plain(wanted) else { return nil }
            return "jsonb_typeof(\(value)) = 'number' and \(value) \(comparison.sql) \(bind(.utf8(plain)))::jsonb"
        case .string(let text) where !text.utf8.contains(0):
            return
                "jsonb_typeof(\(value)) = 'string' and (\(value) #>> '{}') collate \"C\" \(comparison.sql) \(bind(.text(text)))"
        case .date(let milliseconds):
            guard Value.plainIntegers.contains(milliseconds) else { return nil }
            // An embedded document may also have a field with that name, together with others.
            return "case when jsonb_typeof(\(value)->'$date') = 'number' then \(value)->'$date' \(comparison.sql) "
                + "\(bind(.utf8(Array("\(milliseconds)".utf8))))::jsonb and (\(value)) - '$date'::text = '{}'::jsonb else false end"
        default: return nil
        }
    }
}

import DocumentModel
import Postgres
import QueryLanguage

/// The part of a filter that Postgres can look for.
///
/// The condition is necessary, not always sufficient: every document that the filter matches satisfies it, and what comes back is
/// looked at again (`Filter.matches`). So a condition that SQL can't express exactly is left out or widened, never guessed.
struct FilterSQL {
    private(set) var conditions: [String] = []
    private(set) var parameters: [PostgresValue] = []
    /// Whether the condition is the whole filter, so that rows can be counted and limited without looking at them.
    private(set) var isExact = true
    private let partitionKey: String?

    /// - Parameter firstParameter: the number of the first parameter that the conditions may use.
    init(_ filter: Filter, partitionKey: String?, firstParameter: Int = 1) {
        self.partitionKey = partitionKey
        offset = firstParameter
        if filter.collation != nil {
            isExact = false
        } else {
            add(filter.node)
        }
    }

    private let offset: Int

    /// `true` when there is nothing to look for.
    var text: String { conditions.isEmpty ? "true" : conditions.joined(separator: " and ") }

    private mutating func bind(_ value: PostgresValue) -> String {
        parameters.append(value)
        return "$\(offset + parameters.count - 1)"
    }

    private mutating func add(_ node: FilterNode) {
        switch node {
        case .and(let nodes): for node in nodes { add(node) }
        case .constant(true): break
        case .constant(false): conditions.append("false")
        case .field(let path, let condition): add(path, condition)
        case .or(let nodes):
            isExact = false
            let paths = nodes.map { JSONPathCondition.necessary(for: $0) }
            // One branch that can't be expressed lets everything through.
            guard !paths.isEmpty, paths.allSatisfy({ $0 != nil }) else { return }
            let branches = paths.compactMap { $0 }.map { "document @? \(bind(.text($0)))::jsonpath" }
            conditions.append("(\(branches.joined(separator: " or ")))")
        case .nor, .expression, .schema: isExact = false
        }
    }

    private mutating func add(_ path: Path, _ condition: FieldCondition) {
        if path.description == "_id", let keys = condition.keys {
            conditions.append("_id = any(\(bind(.textArray(keys))))")
            return
        }
        isExact = false
        if path.description == partitionKey, case .equal(let value) = condition, let partition = Partition(value: value) {
            conditions.append("partition = \(bind(.text(partition.text)))")
            return
        }
        if let text = JSONPathCondition.necessary(for: .field(path, condition)) {
            conditions.append("document @? \(bind(.text(text)))::jsonpath")
        }
    }
}

extension FieldCondition {
    /// The key texts of the `_id`s that the condition asks for, when it asks for nothing else.
    fileprivate var keys: [String?]? {
        let values: [Value]
        switch self {
        case .equal(let value): values = [value]
        case .in(let list, let expressions) where expressions.isEmpty: values = list
        default: return nil
        }
        var keys: [String?] = []
        for value in values {
            guard let key = value.normalizedKey else { return nil }
            keys.append(key)
        }
        return keys
    }
}

extension Value {
    /// The key text, also of a double that is a whole number: MongoDB finds the `_id` 5 by 5.0.
    fileprivate var normalizedKey: String? {
        if case .double(let number) = self { return Int64(exactly: number).map { "l:\($0)" } }
        return keyText
    }
}

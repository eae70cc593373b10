import DocumentModel
import QueryLanguage

extension CollectionIndex {
    /// Whether every document that meets the conjuncts is in the index.
    func covers(_ nodes: [FilterNode], _ constraints: [ExactText: PathConstraint]) -> Bool {
        if model.isSparse { return model.keys.contains { constraints[$0.path]?.demandsPresence ?? false } }
        guard let partial = model.partialFilter else { return true }
        // It was already parsed once when the index was created.
        guard let wanted = try? Filter(partial).node else { return false }
        return Self.implied(wanted, by: nodes)
    }

    private static func implied(_ node: FilterNode, by nodes: [FilterNode]) -> Bool {
        switch node {
        case .and(let parts): return parts.allSatisfy { implied($0, by: nodes) }
        case .or(let parts): return parts.contains { implied($0, by: nodes) }
        case .field(let path, let condition): return nodes.contains { implied(condition, at: path, by: $0) }
        default: return false
        }
    }

    private static func implied(_ condition: FieldCondition, at path: Path, by node: FilterNode) -> Bool {
        switch node {
        case .and(let nodes): return nodes.contains { implied(condition, at: path, by: $0) }
        case .or(let nodes): return !nodes.isEmpty && nodes.allSatisfy { implied(condition, at: path, by: $0) }
        case .field(path, let given): return implied(condition, by: given)
        default: return false
        }
    }

    private static func implied(_ condition: FieldCondition, by given: FieldCondition) -> Bool {
        if case .in(let values, let expressions) = given, expressions.isEmpty {
            return !values.isEmpty && values.allSatisfy { implied(condition, by: .equal($0)) }
        }
        switch (condition, given) {
        case (.exists, .exists), (.exists, .size), (.exists, .regex), (.exists, .modulo): return true
        case (.exists, .equal(let value)), (.exists, .compare(_, let value)):
            return value != .null && value != .undefined
        case (.equal(let wanted), .equal(let value)): return isScalar(value) && wanted == value
        case (.in(let wanted, let expressions), .equal(let value)):
            return expressions.isEmpty && isScalar(value) && wanted.contains(value)
        case (.type(let types), .equal(let value)):
            return isScalar(value) && !value.isNumber && types.codes == [value.typeCode]
        case (.compare(let comparison, let bound), .equal(let value)):
            guard isScalar(value), value.typeRank == bound.typeRank else { return false }
            return comparison.holds(Value.compare(value, bound))
        case (.compare(let comparison, let bound), .compare(let other, let value)):
            guard value.typeRank == bound.typeRank, comparison.isLower == other.isLower else { return false }
            let order = Value.compare(value, bound)
            if order == 0 { return comparison == other || comparison.isInclusive }
            return comparison.isLower ? order > 0 : order < 0
        default: return false
        }
    }

    private static func isScalar(_ value: Value) -> Bool {
        switch value {
        case .array, .document: false
        default: true
        }
    }
}

extension FieldCondition.Comparison {
    fileprivate var isLower: Bool { self == .greater || self == .greaterOrEqual }
    fileprivate var isInclusive: Bool { self == .greaterOrEqual || self == .lessOrEqual }

    fileprivate func holds(_ order: Int) -> Bool {
        order == 0 ? isInclusive : (order > 0) == isLower
    }
}

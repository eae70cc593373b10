import DocumentModel
import Postgres
import QueryLanguage

/// How an index finds the documents of a conjunction: a condition on the index's keys that every matching document meets.
struct IndexPlan: Sendable {
    let index: CollectionIndex
    /// How many of the first keys are searched for by single values.
    let points: Int
    /// Whether the next key after those is searched for by a range.
    let hasRange: Bool
    private let constraints: [PathConstraint]

    /// The best of the indexes that have all matching documents; `nil` if none helps.
    static func best(
        of indexes: [CollectionIndex], for nodes: [FilterNode], hint: String? = nil
    ) -> IndexPlan? {
        let constraints = PathConstraint.all(of: nodes)
        if constraints.isEmpty { return nil }
        var best: IndexPlan?
        for index in indexes
        where index.model.isSorted && (hint == nil || hint.map(index.model.name.hasSameBytes) == true) {
            guard let plan = IndexPlan(index, constraints), index.covers(nodes, constraints) else { continue }
            if best.map({ $0.worth < plan.worth }) ?? true { best = plan }
        }
        return best
    }

    private init?(_ index: CollectionIndex, _ constraints: [ExactText: PathConstraint]) {
        var found: [PathConstraint] = []
        var points = 0
        var hasRange = false
        for key in index.model.keys {
            guard let constraint = constraints[key.path] else { break }
            if constraint.points != nil {
                points += 1
                found.append(constraint)
            } else if constraint.lower != nil {
                hasRange = true
                found.append(constraint)
                break
            } else {
                break
            }
        }
        if found.isEmpty { return nil }
        self.index = index
        self.points = points
        self.hasRange = hasRange
        self.constraints = found
    }

    /// Whether a conjunct is no narrower than the plan's own condition.
    func covers(_ node: FilterNode) -> Bool {
        guard case .field(let path, let condition) = node else { return false }
        let text = path.description
        guard
            let place = index.model.keys.prefix(constraints.count).firstIndex(where: { $0.path.hasSameBytes(as: text) })
        else {
            return false
        }
        switch condition {
        case .equal, .in: return place < points && constraints[place].isSingle
        case .compare: return place == points
        default: return false
        }
    }

    private var worth: Int {
        points * 10 + (hasRange ? 5 : 0) + (index.model.isUnique ? 3 : 0) + (index.predicate == nil ? 0 : 1)
            - (points == index.model.keys.count ? 0 : 1)
    }

    /// The condition as SQL. Names are part of the text and not parameters, so that Postgres recognises the index.
    func condition(_ bind: (PostgresValue) -> String) -> String {
        var equal: [String] = []
        for place in 0..<points {
            equal.append(
                Self.isAny(index.expression(place), constraints[place], withArrays: place > 0 || !index.hasArrays, bind)
            )
        }
        var arms: [[String]] = [equal]
        if hasRange {
            let expression = index.expression(points)
            arms = [equal + Self.range(expression, constraints[points], bind), equal + ["\(expression) >= '\\xf0'"]]
        }
        if index.model.isUnique {
            // The keys of a unique index distinguish inexact numbers with the same nearest double.
            for place in 0..<points where constraints[place].wantsNumber {
                var arm = equal
                arm[place] = "\(index.expression(place)) >= '\\xf1' and \(index.expression(place)) < '\\xf2'"
                arms.append(arm)
            }
        }
        if index.hasArrays, points > 0 {
            arms.append([
                index.elementsPredicate,
                "\(index.elementsExpression) && \(Self.keys(constraints[0], withArrays: false, bind))",
            ])
        }
        let all = arms.map { $0.joined(separator: " and ") }
        let sql = all.count == 1 ? all[0] : "(" + all.map { "(\($0))" }.joined(separator: " or ") + ")"
        return index.predicate.map { "\(sql) and (\($0))" } ?? sql
    }

    // MARK: Pieces, which the order by an index uses too

    static func isAny(
        _ expression: String, _ constraint: PathConstraint, withArrays: Bool, _ bind: (PostgresValue) -> String
    ) -> String {
        "\(expression) = any(\(keys(constraint, withArrays: withArrays, bind)))"
    }

    private static func keys(
        _ constraint: PathConstraint, withArrays: Bool, _ bind: (PostgresValue) -> String
    ) -> String {
        let array = [IndexKey.array]
        switch constraint.points {
        case .keys(let keys):
            let all = withArrays && !keys.contains(array) ? keys + [array] : keys
            return "\(bind(.byteaArray(all)))::bytea[]"
        case .values(let values):
            let json = [UInt8(ascii: "[")] + values.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
            let keys = "partita.value_keys(\(bind(.utf8(json)))::jsonb)"
            return withArrays ? "\(keys) || '\\xff'::bytea" : keys
        case nil: return "'{}'::bytea[]"
        }
    }

    static func range(
        _ expression: String, _ constraint: PathConstraint, _ bind: (PostgresValue) -> String
    ) -> [String] {
        var parts: [String] = []
        if let lower = constraint.lower {
            parts.append("\(expression) \(lower.isInclusive ? ">=" : ">") \(bind(.bytea(lower.key)))")
        }
        if let upper = constraint.upper {
            parts.append("\(expression) \(upper.isInclusive ? "<=" : "<") \(bind(.bytea(upper.key)))")
        }
        return parts
    }
}

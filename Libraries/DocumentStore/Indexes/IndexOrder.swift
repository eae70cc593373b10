import DocumentModel
import Postgres
import QueryLanguage

/// Reads documents in the order of a sort from an index, so that reading the first of them doesn't read the others.
///
/// Postgres returns documents whose keys are exact (``IndexKey``) in order. The others (those with arrays, long texts, fractional
/// decimals) are usually few: a separate statement reads them, and they are sorted and merged in here.
struct IndexOrder: Sendable {
    let index: CollectionIndex
    /// The constraints of the index's first keys, which bind each of them to one value.
    private let bound: [PathConstraint]
    private let constraints: [PathConstraint?]
    private let isReversed: Bool

    /// The index that has the order of a sort after paths that the filter binds to one value; `nil` if there is none.
    static func best(
        of indexes: [CollectionIndex], for sort: Sort, filter: Filter, hint: String? = nil
    ) -> IndexOrder? {
        // A collation orders strings differently.
        guard filter.collation == nil else { return nil }
        let nodes = if case .and(let nodes) = filter.node { nodes } else { [filter.node] }
        let constraints = PathConstraint.all(of: nodes)
        var best: IndexOrder?
        for index in indexes
        where index.model.isSorted && (hint == nil || hint.map(index.model.name.hasSameBytes) == true) {
            guard let order = IndexOrder(index, sort, constraints), index.covers(nodes, constraints) else { continue }
            if best.map({ $0.bound.count < order.bound.count }) ?? true { best = order }
        }
        return best
    }

    private init?(_ index: CollectionIndex, _ sort: Sort, _ constraints: [ExactText: PathConstraint]) {
        let keys = index.model.keys
        let paths = sort.keys.compactMap { $0.path?.description }
        guard paths.count == sort.keys.count, let first = paths.first else { return nil }
        var bound: [PathConstraint] = []
        for key in keys {
            if key.path.hasSameBytes(as: first) { break }
            guard let constraint = constraints[key.path], constraint.regularPoint != nil else { return nil }
            bound.append(constraint)
        }
        let rest = keys.dropFirst(bound.count)
        guard rest.count >= paths.count, zip(rest, paths).allSatisfy({ $0.path.hasSameBytes(as: $1) }) else {
            return nil
        }
        let turns = Set(zip(rest, sort.keys).map { ($0.direction == .ascending) != $1.ascending })
        guard turns.count == 1, let isReversed = turns.first else { return nil }
        self.index = index
        self.bound = bound
        self.isReversed = isReversed
        self.constraints = paths.map { constraints[$0] }
    }

    /// The paths that the filter binds to one value.
    var boundPaths: Set<ExactText> { Set(texts: index.model.keys.prefix(bound.count).map(\.path)) }

    private var places: Range<Int> { bound.count..<bound.count + constraints.count }

    private func points(_ bind: (PostgresValue) -> String) -> [String] {
        zip(bound.indices, bound).map { place, constraint in
            "\(index.expression(place)) = \(bind(.bytea(constraint.regularPoint ?? [])))"
        }
    }

    /// The condition of the documents that are returned in order, and that order.
    func regular(_ bind: (PostgresValue) -> String) -> (condition: String, order: String) {
        var parts = points(bind)
        for (place, constraint) in zip(places, constraints) {
            parts.append("\(index.expression(place)) < '\\xf0'")
            // After a path that isn't bound to one value, a range only filters.
            if place == bound.count, let constraint, constraint.lower != nil {
                parts += IndexPlan.range(index.expression(place), constraint, bind)
            }
        }
        if let predicate = index.predicate { parts.append("(\(predicate))") }
        let order = places.map { place in
            let isAscending = (index.model.keys[place].direction == .ascending) != isReversed
            return index.expression(place) + (isAscending ? "" : " desc")
        }
        return (parts.joined(separator: " and "), order.joined(separator: ", "))
    }

    /// The condition of the documents without exact keys.
    func irregular(_ bind: (PostgresValue) -> String) -> String {
        var arms: [String] = []
        for place in bound.indices {
            var parts = bound.indices.filter { $0 < place }.map {
                IndexPlan.isAny(index.expression($0), bound[$0], withArrays: true, bind)
            }
            parts.append("\(index.expression(place)) >= '\\xf0'")
            arms.append(parts.joined(separator: " and "))
        }
        for place in places {
            arms.append((points(bind) + ["\(index.expression(place)) >= '\\xf0'"]).joined(separator: " and "))
        }
        let sql = "(" + arms.map { "(\($0))" }.joined(separator: " or ") + ")"
        return index.predicate.map { "\(sql) and (\($0))" } ?? sql
    }
}

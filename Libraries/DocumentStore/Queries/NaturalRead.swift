import DocumentModel
import Postgres
import QueryLanguage

/// A read that returns documents in the order in which they were inserted, or in its reverse; a range of `_id`s is returned in the
/// order of `_id`, as from MongoDB's index.
///
/// The index of the natural order finds the first documents of a collection at once. The documents of a condition that another
/// index serves are sorted instead: if it could choose, Postgres would scan the whole collection whenever it estimates that many
/// documents match.
struct NaturalRead: Sendable {
    /// How many documents a condition has to find so that reading in natural order finds the first of them faster.
    private static let many = 1000
    /// The largest limit for which that choice is made.
    private static let few = 256

    /// The index that finds the documents of a condition.
    private enum Reach {
        /// The primary key, for one document.
        case one
        /// The primary key, in its order.
        case ids
        /// No index, for a range of `_id`s whose texts aren't in its order.
        case otherIds
        case index
        /// The index of the partitions, of whose sizes Postgres has statistics.
        case partition
        case nothing
    }

    private let table: String
    private let condition: String
    /// The condition without index conditions, and its parameters, which follow those of `condition`; `nil` if there is none.
    private let plain: (sql: String, parameters: [PostgresValue])?
    private let parameters: [PostgresValue]
    private let order: NaturalOrder
    private let reach: Reach

    /// - Parameters:
    ///   - found: `filter` as Postgres evaluates it.
    ///   - isHinted: Whether `$natural` was asked for.
    init(
        _ found: TranslatedFilter, of filter: Filter, in table: CollectionTable, partitionKey: String?,
        order: NaturalOrder, isHinted: Bool
    ) {
        self.table = table.name
        self.order = order
        condition = found.condition.sql
        parameters = found.parameters
        reach = Self.reach(of: filter, found, partitionKey: partitionKey, isHinted: isHinted)
        if found.score == nil {
            var translation = FilterTranslation(partitionKey: partitionKey, parameters: found.parameters)
            let plain = translation.translate(filter).sql
            self.plain = (plain, translation.parameters)
        } else {
            plain = nil
        }
    }

    private static func reach(
        of filter: Filter, _ found: TranslatedFilter, partitionKey: String?, isHinted: Bool
    ) -> Reach {
        var reach = found.indexes.isEmpty && found.score == nil ? Reach.nothing : .index
        if filter.collation != nil { return reach }
        let nodes = if case .and(let nodes) = filter.node { nodes } else { [filter.node] }
        for node in nodes {
            guard case .field(let path, let condition) = node, path.components.count == 1 else { continue }
            switch (path.components[0].name, condition) {
            case ("_id", .equal): return .one
            case ("_id", .in): reach = .index
            case ("_id", .compare(_, let value)) where reach == .nothing && !isHinted:
                // Other binaries stand among UUIDs.
                if case .binary = value { reach = .otherIds } else { reach = value.hasOrderedKey ? .ids : .otherIds }
            case (partitionKey, .equal) where reach == .nothing: reach = .partition
            default: break
            }
        }
        return reach
    }

    /// The settings for a cursor over a statement without a limit, which is read to its end; `nil` if they aren't needed.
    var settings: PostgresStatement? {
        reach == .partition ? "select set_config('cursor_tuple_fraction', '1', true)" : nil
    }

    /// Whether the documents have to be sorted by `_id`.
    var needsIdOrder: Bool { reach == .otherIds }

    /// Whether it isn't in the order of `_id`.
    var isInNaturalOrder: Bool { reach != .ids }

    /// A place before all documents.
    var start: Int64 { order == .forward ? .min : .max }

    /// All documents of the condition, if it is certain that there is one at most.
    ///
    /// A condition that an index serves usually has one. Then the order doesn't matter, and this plain statement takes less than half the
    /// time of one with an order.
    /// - Parameter run: Runs a statement.
    /// - Returns: `nil` if there are several, or no index serves the condition.
    func only(
        _ columns: String, _ run: (PostgresStatement) async throws -> PostgresRows
    ) async throws -> PostgresRows? {
        guard reach == .index else { return nil }
        let any = "select \(columns), t.natural_order as place from \(table) t where (\(condition)) limit 2"
        let rows = try await run(PostgresStatement(any, parameters))
        return rows.count < 2 ? rows : nil
    }

    /// The statement.
    ///
    /// - Parameters:
    ///   - columns: Columns of the table `t`. A row's place in the natural order follows them.
    ///   - after: Only documents after this place in natural order are read.
    func statement(
        _ columns: String, limit: Int? = nil, offset: Int = 0, after: Int64? = nil
    ) -> PostgresStatement {
        var condition = "(\(condition))"
        var behind = ""
        var parameters = parameters
        func addPlace() {
            guard let after else { return }
            parameters.append(.int(after))
            behind = " and t.natural_order \(order == .forward ? ">" : "<") $\(parameters.count)"
        }
        let cut = (limit.map { " limit \($0)" } ?? "") + (offset > 0 ? " offset \(offset)" : "")
        let source = "select \(columns), t.natural_order as place from \(table) t where"
        let natural = "order by t.natural_order\(order.direction)\(cut)"
        let byPlace = "order by place\(order.direction)\(cut)"
        if let limit, limit + offset <= Self.few, reach == .index, let plain {
            parameters = plain.parameters
            addPlace()
            condition += behind
            // Only one of the last two parts is executed, depending on the first.
            return PostgresStatement(
                """
                with found as materialized (\(source) \(condition) limit \(Self.many)),
                    size as materialized (select count(*) = \(Self.many) as is_large from found)
                (select * from found where not (select is_large from size) \(byPlace))
                union all
                (\(source) (select is_large from size) and (\(plain.sql))\(behind) \(natural))
                """, parameters)
        }
        addPlace()
        condition += behind
        let sql =
            switch reach {
            case .one: "\(source) \(condition)\(cut)"
            case .ids where after == nil: "\(source) \(condition) order by t._id\(order.direction)\(cut)"
            case .index: "select * from (\(source) \(condition) offset 0) found \(byPlace)"
            case .ids, .otherIds, .partition, .nothing: "\(source) \(condition) \(natural)"
            }
        return PostgresStatement(sql, parameters)
    }
}

import DocumentModel
import Postgres
import QueryLanguage

extension DocumentCollection {
    /// With more groups than this, the query engine groups instead, which limits its memory.
    private static let maximumGroups = 50_000

    /// The first stages of a pipeline, if Postgres can evaluate them alone as long as no document is in doubt: `$match`, then
    /// `$group`, `$sortByCount` or `$count`.
    struct Grouping: Sendable {
        let group: GroupTranslation
        let statement: PostgresStatement
        /// Measures the lists before; `nil` if there are none.
        let measuring: PostgresStatement?
        /// The names of the indexes that conditions were built for.
        let indexes: [String]
        /// The number of these stages.
        let count: Int
        /// The remaining stages, which run over the groups.
        let rest: [Document]
    }

    /// Returns `nil` if the query engine has to group.
    func grouping(_ stages: [Document], options: AggregateOptions) async throws -> Grouping? {
        guard session == nil, options.collation == nil else { return nil }
        var rest = stages[...]
        var filter = Document()
        if let match = rest.first?["$match"]?.documentValue {
            filter = match
            rest = rest.dropFirst()
        }
        guard let stage = rest.first?.fields.first, let grouping = GroupingStage(stage),
            let table = try await table()
        else { return nil }
        let parsed = try parse(filter, variables: options.variables)
        if parsed.text != nil || parsed.filter.nearness != nil { return nil }
        let found = try translation(of: parsed, on: table, hint: options.hint, tellingDoubt: true)
        guard found.condition.isExact || found.doubt != nil else { return nil }
        if grouping.group.isOrdered {
            let order = NaturalOrder(options.hint?.documentValue) ?? .forward
            let natural = try naturalRead(
                found, of: parsed.filter, in: table, hint: options.hint, order: order)
            guard order == .forward, natural.isInNaturalOrder else { return nil }
        }
        func statement(measuring: Bool) -> PostgresStatement {
            let sql = grouping.group.sql(
                table.name, where: found.condition.sql, doubt: found.doubt, limit: Self.maximumGroups + 1,
                measuring: measuring)
            return PostgresStatement(sql, found.parameters)
        }
        return Grouping(
            group: grouping.group, statement: statement(measuring: false),
            measuring: grouping.group.lists.isEmpty ? nil : statement(measuring: true), indexes: found.indexes,
            count: stages.count - rest.count + 1, rest: grouping.following + rest.dropFirst())
    }

    /// The groups; `nil` if the query engine has to evaluate the documents after all.
    func groups(_ grouping: Grouping, within limit: TimeLimit) async throws -> [Document]? {
        try await snapshot(within: limit) { transaction in
            guard !grouping.group.isOrdered else {
                // Each row may be large.
                return try await groups(grouping, in: transaction, within: limit)
            }
            let rows = try await transaction.pipeline([GroupTranslation.settings, grouping.statement])[1]
            if rows.count > Self.maximumGroups { return nil }
            return try grouping.group.documents(of: rows)
        }
    }

    private func groups(
        _ grouping: Grouping, in transaction: PostgresTransaction, within limit: TimeLimit
    ) async throws -> [Document]? {
        if let measuring = grouping.measuring {
            let sizes = try await transaction.pipeline([GroupTranslation.settings, measuring])[1]
            guard sizes.count <= Self.maximumGroups,
                try grouping.group.fits(sizes, within: Self.maximumCollectedBytes)
            else { return nil }
        } else {
            _ = try await transaction.send(GroupTranslation.settings)
        }
        var groups = GroupTranslation.Groups(grouping.group), count = 0
        for try await row in transaction.stream(grouping.statement.sql, grouping.statement.parameters, batch: 64) {
            try limit.check()
            count += 1
            guard count <= Self.maximumGroups, groups.bytes <= Self.maximumCollectedBytes, try groups.add(row) else {
                return nil
            }
        }
        return groups.documents()
    }

    /// A grouping stage as a `$group` and the stages that follow it.
    private struct GroupingStage {
        let group: GroupTranslation
        var following: [Document] = []

        init?(_ stage: Document.Field) {
            switch (stage.key, stage.value) {
            case ("$group", .document(let group)):
                guard let translation = GroupTranslation(group) else { return nil }
                self.group = translation
            case ("$sortByCount", let path):
                guard let translation = GroupTranslation(["_id": path, "count": ["$sum": 1]]) else { return nil }
                group = translation
                following = [["$sort": ["count": -1]]]
            case ("$count", .string(let name)):
                guard let translation = GroupTranslation(["_id": .null, "n": ["$sum": 1]]) else { return nil }
                group = translation
                following = [["$project": ["_id": 0, name: "$n"]]]
            default: return nil
            }
        }
    }
}

import DocumentModel
import Postgres
import QueryLanguage

extension DocumentCollection {
    /// More groups than this are gathered by the engine, which counts its memory.
    private static let maximumGroups = 50_000

    /// Runs a pipeline whose first stages Postgres can do alone: `$match` that is exact in SQL, then `$group`, `$sortByCount` or
    /// `$count`. The other stages run over the groups.
    ///
    /// - Returns: the groups, and the stages that are left; `nil` where the engine has to do it.
    func grouped(
        _ stages: [Document], within limit: TimeLimit
    ) async throws -> (groups: [Document], rest: [Document])? {
        var rest = stages[...]
        var filter = Document()
        if let match = rest.first?["$match"]?.documentValue {
            filter = match
            rest = rest.dropFirst()
        }
        guard let stage = rest.first?.fields.first, let grouping = GroupingStage(stage),
            let table = try await table()
        else { return nil }
        let parsed = try parse(filter)
        if parsed.text != nil || parsed.filter.nearness != nil { return nil }
        let found = try translation(of: parsed, on: table)
        guard found.condition.isExact,
            let groups = try await grouping.groups(found, of: table, in: self, within: limit)
        else { return nil }
        return (groups, grouping.following + rest.dropFirst())
    }

    /// A stage that groups, as a `$group` and what follows it.
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

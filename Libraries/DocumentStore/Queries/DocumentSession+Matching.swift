import DocumentModel
import Postgres
import QueryLanguage
import SyncEngine

extension DocumentSession {
    /// The documents to change, as a query that is parsed once per call.
    struct Target: Sendable {
        let table: CollectionTable
        let filter: Filter
        let condition: FilterTranslation.Condition
        let parameters: [PostgresValue]
        /// Whether the condition has a `$text`, which isn't part of the filter.
        let hasText: Bool
        /// The name of the only index to use.
        let hint: String?
        /// How the documents are read in natural order.
        let natural: NaturalRead
        /// The review of what the write's author may see; `nil` if the author sees everything.
        let reviewed: Reviewed?

        /// A query under review.
        struct Reviewed: Sendable {
            let query: any ReviewedQuery
            /// The author's own filter.
            let filter: Filter
            /// The filter whose equalities an upsert's document gets.
            let inserted: Filter
        }
    }

    /// Locks the next documents that match, in the order of their `_id`s.
    ///
    /// - Returns: their keys, and the id after which to continue; `nil` when there are no more.
    func lockMatches(of target: Target, after: String?, limit: Int) async throws -> (
        keys: [WritePlan.Key], next: String?
    ) {
        let locked = try await lock(
            target.table, where: target.condition.sql, target.parameters, after: after, limit: limit)
        var keys: [WritePlan.Key] = []
        for key in locked where try await matches(key, target) { keys.append(key) }
        return (keys, locked.count < limit ? nil : locked.last?.id.text)
    }

    /// Locks the first document that matches: in the order of `sort` if it is given, else in natural order.
    func lockFirst(of target: Target, sort: Sort?) async throws -> WritePlan.Key? {
        if let sort { return try await lockFirst(of: target, sortedBy: sort) }
        if target.condition.isExact, target.reviewed == nil { return try await lockFirstExact(of: target) }
        // Candidates are read without locks, since most of them may not match.
        var after: Int64?
        while true {
            let found = try await candidates(of: target, after: after, limit: 128)
            for candidate in found where candidate.isMatch {
                // It may have changed since it was read.
                if let key = try await lock(target.table, id: candidate.id), try await matches(key, target) {
                    return key
                }
            }
            guard found.count == 128 else { return nil }
            after = found.last?.place
        }
    }

    /// For a condition that is exact in Postgres.
    private func lockFirstExact(of target: Target) async throws -> WritePlan.Key? {
        let first = target.natural.statement("t._id", limit: 1)
        for _ in 0..<10 {
            // The first document may change before it is locked: then the first is another one, or there is none.
            let locked = try await lock(
                target.table, where: "t._id = (select f._id from (\(first.sql)) f) and (\(target.condition.sql))",
                first.parameters, after: nil, limit: 1)
            if let key = locked.first { return try await matches(key, target) ? key : nil }
            if try await run(first).isEmpty { return nil }
        }
        throw DocumentStoreError(.conflict, "others kept changing the first matching document", mongoCode: 112)
    }

    private func candidates(
        of target: Target, after: Int64?, limit: Int
    ) async throws -> [(id: String, place: Int64, isMatch: Bool)] {
        // The place stands behind the columns.
        let output = try ReadOutput(filter: target.filter, options: FindOptions(), now: now)
        let statement = target.natural.statement("t.body, t._id", limit: limit, after: after ?? target.natural.start)
        return try await run(statement).map { row in
            (try row.decode(1), try row.decode(2), try output.document(of: row) != nil)
        }
    }

    private func lockFirst(of target: Target, sortedBy sort: Sort) async throws -> WritePlan.Key? {
        let ordered =
            target.hasText
            ? nil
            : OrderedRead(
                sort, filter: target.filter, table: target.table,
                partitionKey: storage.partitionKey(of: target.table.namespace),
                hint: target.hint)
        let all = target.natural.statement("t.body")
        for _ in 0..<10 {
            var best = try await first(in: ordered?.irregular ?? (ordered == nil ? all : nil), of: target, by: sort)
            for part in ordered?.regular ?? [] {
                // They are returned in order, so the first one that matches is the result.
                guard let document = try await first(in: part, of: target, by: nil) else { continue }
                if best.map({ sort.compare(document, $0) < 0 }) ?? true { best = document }
                break
            }
            guard let best, let id = best["_id"]?.storableId else { return nil }
            if let key = try await lock(target.table, id: id), try await matches(key, target),
                plan[key]?.current?.stored.document.isIdentical(to: best) == true
            {
                return key
            }
        }
        throw DocumentStoreError(.conflict, "others kept changing the first document in sort order", mongoCode: 112)
    }

    /// The first document that matches: in the order of `sort`, or the first row if there is none.
    private func first(in statement: PostgresStatement?, of target: Target, by sort: Sort?) async throws -> Document? {
        guard let statement else { return nil }
        try await prepare()
        let output = try ReadOutput(filter: target.filter, options: FindOptions(), now: now)
        var best: Document?
        for try await row in transaction.stream(statement.sql, statement.parameters, batch: sort == nil ? 4 : 256) {
            guard let document = try output.document(of: row), try await admits(document, target) else { continue }
            guard let sort else { return document }
            if let present = best, sort.compare(present, document) <= 0 { continue }
            best = document
        }
        return best
    }

    func matches(_ key: WritePlan.Key, _ target: Target) async throws -> Bool {
        guard let document = plan[key]?.current?.stored.document else { return false }
        do {
            guard try target.filter.evaluate(document, now: now) else { return false }
        } catch {
            throw DocumentStoreError(query: error, .badFilter)
        }
        return try await admits(document, target)
    }
}

import DocumentModel
import QueryLanguage
import SyncEngine

extension DocumentCollection {
    /// Runs writes in one transaction, in their order.
    ///
    /// - Parameters:
    ///   - ordered: Whether to stop at the first write that is refused; otherwise all others run.
    ///   - maxTimeMS: As in ``FindOptions``; nothing is written if the limit is exceeded.
    /// - Throws: ``BulkWriteError`` when some writes were refused; the writes in its result are committed.
    @discardableResult
    public func bulkWrite(
        _ writes: [WriteModel], ordered: Bool = true, maxTimeMS: Int? = nil, beforeCommit: CommitHook? = nil
    ) async throws -> BulkWriteResult {
        let limit = TimeLimit(maxTimeMS)
        return try await limit.run {
            try await bulkWrite(writes, ordered: ordered, within: limit, beforeCommit: beforeCommit)
        }
    }

    private func bulkWrite(
        _ writes: [WriteModel], ordered: Bool, within limit: TimeLimit, beforeCommit: CommitHook?
    ) async throws -> BulkWriteResult {
        let table = try await ensuredTable()
        let bulk = Bulk(
            table: table, writes: writes, prepared: try await prepare(writes), ordered: ordered, limit: limit,
            hook: beforeCommit)
        // In a session, a row that an index refuses would abort the transaction.
        if session != nil, table.indexes.contains(where: \.model.isUnique) { return try await run(bulk, one: true) }
        do {
            return try await run(bulk, one: false)
        } catch let error as DocumentStoreError where error.isOfUniqueIndex && session == nil {
            // Nothing is written: running each write separately shows which ones fail.
            return try await run(bulk, one: true)
        }
    }

    private struct Bulk: Sendable {
        let table: CollectionTable
        let writes: [WriteModel]
        let prepared: [PreparedWrite]
        let ordered: Bool
        let limit: TimeLimit
        let hook: CommitHook?
    }

    /// - Parameter one: Whether each write is sent to Postgres separately, so that the others succeed if an index refuses one.
    private func run(_ bulk: Bulk, one: Bool) async throws -> BulkWriteResult {
        let table = bulk.table
        // If all writes are inserts, none reads what an earlier one wrote.
        let onlyInserts = !one && bulk.writes.allSatisfy { if case .insertOne = $0 { true } else { false } }
        let (result, failures) = try await write(
            flushes: !onlyInserts, within: bulk.limit, beforeCommit: bulk.hook
        ) { session in
            if onlyInserts { try await session.lockExisting(bulk.writes, in: table) }
            var result = BulkWriteResult()
            var failures: [Int: DocumentStoreError] = [:]
            for (place, write) in bulk.prepared.enumerated() {
                try bulk.limit.check()
                do {
                    if one {
                        let before = result
                        result = try await session.atomically { session in
                            var result = before
                            try await session.run(write, at: place, in: table, isLocked: false, into: &result)
                            return result
                        }
                    } else {
                        try await session.run(write, at: place, in: table, isLocked: onlyInserts, into: &result)
                        if !onlyInserts { try await session.flush() }
                    }
                } catch let error as DocumentStoreError where error.isOfOneWrite || one && error.isOfUniqueIndex {
                    failures[place] = error
                    if bulk.ordered { break }
                }
            }
            return (result, failures)
        }
        if !failures.isEmpty { throw BulkWriteError(result: result, failures: failures) }
        return result
    }

    private func prepare(_ writes: [WriteModel]) async throws -> [PreparedWrite] {
        var prepared: [PreparedWrite] = []
        prepared.reserveCapacity(writes.count)
        for write in writes {
            switch write {
            case .insertOne(let document): prepared.append(.insert(document))
            case .updateOne(let filter, let update, let options), .updateMany(let filter, let update, let options):
                let isMany = if case .updateMany = write { true } else { false }
                prepared.append(
                    .update(
                        try await target(filter, options),
                        try self.update(
                            update, arrayFilters: options.arrayFilters, variables: options.variables),
                        isMany: isMany, sort: options.sort, upsert: options.upsert, operation: .update))
            case .replaceOne(let filter, let replacement, let options):
                prepared.append(
                    .update(
                        try await target(filter, options), try Self.replacement(replacement), isMany: false,
                        sort: options.sort, upsert: options.upsert, operation: .replace))
            case .deleteOne(let filter, let options), .deleteMany(let filter, let options):
                let isMany = if case .deleteMany = write { true } else { false }
                prepared.append(
                    .delete(try await target(filter, options), isMany: isMany))
            }
        }
        return prepared
    }
}

extension DocumentStoreError {
    /// Whether an index of Postgres refused a row.
    fileprivate var isOfUniqueIndex: Bool {
        underlyingError != nil && (code == .duplicateKey || code == .notSupported)
    }

    /// Whether the error concerns only one write, and the transaction can continue.
    fileprivate var isOfOneWrite: Bool {
        underlyingError == nil
            && [.duplicateKey, .schemaViolation, .documentTooLarge, .badId].contains(code)
            || code == .badUpdate
    }
}

/// A write with its filter and update parsed.
private enum PreparedWrite: Sendable {
    case insert(Document)
    case update(
        DocumentSession.Target, Update, isMany: Bool, sort: Document?, upsert: Bool,
        operation: ChangeEvent.OperationType)
    case delete(DocumentSession.Target, isMany: Bool)
}

extension DocumentSession {
    /// Locks, with one statement, the existing documents that the inserts would collide with.
    fileprivate func lockExisting(_ writes: [WriteModel], in table: CollectionTable) async throws {
        var ids: [String?] = []
        for case .insertOne(let document) in writes {
            if let id = document["_id"]?.storableId { ids.append(id) }
        }
        if ids.isEmpty { return }
        _ = try await lock(
            table, where: "t._id = any($1::text[])", [.textArray(ids)], after: nil, limit: ids.count)
    }

    fileprivate func run(
        _ write: PreparedWrite, at place: Int, in table: CollectionTable, isLocked: Bool,
        into result: inout BulkWriteResult
    ) async throws {
        switch write {
        case .insert(let document):
            let inserted = try await insert(document, into: table, isChecked: !isLocked)
            result.insertedCount += 1
            result.insertedIds[place] = inserted["_id"]
        case .update(let target, let update, let isMany, let sort, let upsert, let operation):
            var part = UpdateResult()
            if isMany {
                for key in try await allMatches(of: target) {
                    part.matchedCount += 1
                    if try await self.update(key, of: target, with: update, operation: operation).isModified {
                        part.modifiedCount += 1
                    }
                }
                if part.matchedCount == 0, upsert {
                    part.upsertedId = try await self.upsert(target, with: update)["_id"]
                }
            } else {
                part = try await updateFirst(
                    target, update, sort: try DocumentCollection.sort(sort, collation: target.filter.collation),
                    upsert: upsert, operation: operation)
            }
            result.matchedCount += part.matchedCount
            result.modifiedCount += part.modifiedCount
            result.upsertedIds[place] = part.upsertedId
        case .delete(let target, let isMany):
            let keys =
                isMany
                ? try await allMatches(of: target) : [try await lockFirst(of: target, sort: nil)].compactMap { $0 }
            for key in keys where try delete(key, from: target.table) != nil { result.deletedCount += 1 }
        }
    }

    private func allMatches(of target: Target) async throws -> [WritePlan.Key] {
        var keys: [WritePlan.Key] = []
        var after: String?
        repeat {
            let (part, next) = try await lockMatches(of: target, after: after, limit: 500)
            keys += part
            after = next
        } while after != nil
        return keys
    }
}

public import DocumentModel
import Postgres
import QueryLanguage
import SyncEngine

extension DocumentCollection {
    /// How many documents `updateMany` and `deleteMany` lock and write together.
    private static let part = 500

    // MARK: Insert

    /// Inserts a document and returns its `_id`, which is generated if it has none.
    ///
    /// - Parameter beforeCommit: See ``CommitHook``; not inside a session.
    @discardableResult
    public func insertOne(_ document: Document, beforeCommit: CommitHook? = nil) async throws -> Value {
        let table = try await ensuredTable()
        // In a session that goes on, a refused row would abort the transaction, so an existing document is searched for first.
        let isChecked = session?.flushes ?? false
        return try await write(beforeCommit: beforeCommit) { session in
            try await session.insert(document, into: table, isChecked: isChecked)["_id"] ?? .null
        }
    }

    /// Inserts documents and returns their `_id`s.
    ///
    /// - Parameter ordered: Whether to stop at the first that is refused; otherwise all others are inserted.
    /// - Throws: ``BulkWriteError`` when some were refused; the inserts in its result are committed.
    @discardableResult
    public func insertMany(
        _ documents: [Document], ordered: Bool = true, beforeCommit: CommitHook? = nil
    ) async throws -> [Value] {
        let result = try await bulkWrite(
            documents.map { .insertOne($0) }, ordered: ordered, beforeCommit: beforeCommit)
        return documents.indices.compactMap { result.insertedIds[$0] }
    }

    // MARK: Update

    /// Updates the first document that matches, with operators or a pipeline.
    @discardableResult
    public func updateOne(
        _ filter: Document, _ update: Value, options: UpdateOptions = UpdateOptions(), beforeCommit: CommitHook? = nil
    ) async throws -> UpdateResult {
        let update = try self.update(update, arrayFilters: options.arrayFilters, variables: options.variables)
        return try await updateFirst(
            filter, update, options: options, operation: .update, beforeCommit: beforeCommit)
    }

    /// Replaces the first document that matches; `arrayFilters` are ignored.
    @discardableResult
    public func replaceOne(
        _ filter: Document, _ replacement: Document, options: UpdateOptions = UpdateOptions(),
        beforeCommit: CommitHook? = nil
    ) async throws -> UpdateResult {
        try await updateFirst(
            filter, try Self.replacement(replacement), options: options, operation: .replace,
            beforeCommit: beforeCommit)
    }

    /// Updates all documents that match. With a hook, or in a session, this happens in one transaction.
    @discardableResult
    public func updateMany(
        _ filter: Document, _ update: Value, options: UpdateOptions = UpdateOptions(), beforeCommit: CommitHook? = nil
    ) async throws -> UpdateResult {
        let update = try self.update(update, arrayFilters: options.arrayFilters, variables: options.variables)
        let limit = TimeLimit(options.maxTimeMS)
        let target = try await target(filter, options)
        var result = UpdateResult()
        try await inParts(of: target, within: limit, beforeCommit: beforeCommit) { session, keys in
            var part = UpdateResult()
            for key in keys {
                try limit.check()
                let updated = try await session.update(key, of: target, with: update, operation: .update)
                part.matchedCount += 1
                if updated.isModified { part.modifiedCount += 1 }
            }
            return part
        } each: { part in
            result.matchedCount += part.matchedCount
            result.modifiedCount += part.modifiedCount
        }
        if result.matchedCount == 0, options.upsert {
            var options = options
            options.maxTimeMS = limit.milliseconds
            return try await updateFirst(
                filter, update, options: options, operation: .update, beforeCommit: beforeCommit)
        }
        return result
    }

    // MARK: Delete

    /// Deletes the first document that matches and returns 1, or 0 if none matches.
    @discardableResult
    public func deleteOne(
        _ filter: Document, options: DeleteOptions = DeleteOptions(), beforeCommit: CommitHook? = nil
    ) async throws -> Int {
        let limit = TimeLimit(options.maxTimeMS)
        let target = try await target(filter, options)
        return try await limit.run {
            try await write(within: limit, beforeCommit: beforeCommit) { session in
                guard let key = try await session.lockFirst(of: target, sort: nil) else { return 0 }
                return try await session.delete(key, from: target.table) == nil ? 0 : 1
            }
        }
    }

    /// Deletes all documents that match and returns how many. With a hook, or in a session, this happens in one transaction.
    @discardableResult
    public func deleteMany(
        _ filter: Document, options: DeleteOptions = DeleteOptions(), beforeCommit: CommitHook? = nil
    ) async throws -> Int {
        let target = try await target(filter, options)
        let limit = TimeLimit(options.maxTimeMS)
        var count = 0
        try await inParts(of: target, within: limit, beforeCommit: beforeCommit) { session, keys in
            for key in keys { _ = try await session.delete(key, from: target.table, origin: options.origin) }
            return keys.count
        } each: {
            count += $0
        }
        return count
    }

    // MARK: Find and modify

    /// Updates the first document that matches, and returns it as it was before, or as it is afterwards.
    public func findOneAndUpdate(
        _ filter: Document, _ update: Value, options: FindAndModifyOptions = FindAndModifyOptions(),
        beforeCommit: CommitHook? = nil
    ) async throws -> Document? {
        try await findAndModify(
            filter,
            try self.update(update, arrayFilters: options.arrayFilters, variables: options.variables),
            options: options, operation: .update, beforeCommit: beforeCommit)
    }

    /// Replaces the first document that matches, and returns it as it was before, or as it is afterwards.
    public func findOneAndReplace(
        _ filter: Document, _ replacement: Document, options: FindAndModifyOptions = FindAndModifyOptions(),
        beforeCommit: CommitHook? = nil
    ) async throws -> Document? {
        try await findAndModify(
            filter, try Self.replacement(replacement), options: options, operation: .replace,
            beforeCommit: beforeCommit)
    }

    /// Deletes the first document that matches, and returns it.
    public func findOneAndDelete(
        _ filter: Document, options: FindAndModifyOptions = FindAndModifyOptions(), beforeCommit: CommitHook? = nil
    ) async throws -> Document? {
        let limit = TimeLimit(options.maxTimeMS)
        let target = try await target(filter, options)
        let sort = try Self.sort(options.sort, collation: target.filter.collation)
        let deleted = try await limit.run {
            try await write(within: limit, beforeCommit: beforeCommit) { session -> Document? in
                guard let key = try await session.lockFirst(of: target, sort: sort) else { return nil }
                return try await session.delete(key, from: target.table)
            }
        }
        return try deleted.map { try output(target, options).projected($0) }
    }

    // MARK: How

    func update(_ value: Value, arrayFilters: [Document], variables: Document) throws -> Update {
        let constants = try constants(variables)
        do {
            let update = try Update(value, arrayFilters: arrayFilters, constants: constants)
            if update.replacement != nil {
                throw DocumentStoreError(.badUpdate, "the update needs update operators", mongoCode: 9)
            }
            return update
        } catch let error as QueryError {
            throw DocumentStoreError(query: error, .badUpdate)
        }
    }

    static func replacement(_ document: Document) throws -> Update {
        do {
            let update = try Update(document)
            guard update.replacement != nil else {
                throw DocumentStoreError(.badUpdate, "the replacement has update operators", mongoCode: 9)
            }
            return update
        } catch let error as QueryError {
            throw DocumentStoreError(query: error, .badUpdate)
        }
    }

    static func sort(_ document: Document?, collation: Collation?) throws -> Sort? {
        do {
            return try document.flatMap { $0.fields.isEmpty ? nil : try Sort($0, collation: collation) }
        } catch {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }

    private func output(_ target: DocumentSession.Target, _ options: FindAndModifyOptions) throws -> ReadOutput {
        try ReadOutput(
            filter: target.filter,
            options: FindOptions(projection: options.projection, variables: options.variables), now: now)
    }

    /// What an update, a deletion or a `findOneAnd…` applies to.
    func target(_ filter: Document, _ options: some SelectionOptions) async throws -> DocumentSession.Target {
        let query = try await session?.review?.query(filter, sort: options.sort, collation: options.collation)
        let reviewed = try query.map { query in
            DocumentSession.Target.Reviewed(
                query: query, filter: try parse(filter, collation: options.collation).filter,
                inserted: try parse(query.inserted, collation: options.collation).filter)
        }
        let parsed = try parse(
            query?.stored ?? filter, collation: options.collation, variables: options.variables)
        let table = try await ensuredTable()
        let found = try translation(of: parsed, on: table, hint: options.hint)
        return DocumentSession.Target(
            table: table, filter: parsed.filter, condition: found.condition, parameters: found.parameters,
            hasText: parsed.text != nil, hint: try hinted(options.hint, on: table),
            natural: try naturalRead(
                found, of: parsed.filter, in: table, hint: options.hint, order: options.natural),
            reviewed: reviewed)
    }

    func updateFirst(
        _ filter: Document, _ update: Update, options: UpdateOptions, operation: ChangeEvent.OperationType,
        beforeCommit: CommitHook?
    ) async throws -> UpdateResult {
        let upsert = options.upsert
        let limit = TimeLimit(options.maxTimeMS)
        let target = try await target(filter, options)
        let sort = try Self.sort(options.sort, collation: target.filter.collation)
        // A time limit can be set only in a transaction.
        if session == nil, beforeCommit == nil, limit.isNone, sort == nil,
            let updated = try await updateUnlocked(target, update, operation: operation),
            updated.before != nil || !upsert
        {
            return UpdateResult(
                matchedCount: updated.before == nil ? 0 : 1, modifiedCount: updated.isModified ? 1 : 0)
        }
        return try await limit.run {
            try await racing(upsert: upsert) {
                try await write(within: limit, beforeCommit: beforeCommit) { session in
                    try await session.updateFirst(
                        target, update, sort: sort, upsert: upsert, operation: operation)
                }
            }
        }
    }

    private func updateUnlocked(
        _ target: DocumentSession.Target, _ update: Update, operation: ChangeEvent.OperationType
    ) async throws -> DocumentSession.Updated? {
        do {
            return try await UnlockedUpdate(store: store, storage: store.storage(of: app), target: target)
                .run(update, operation: operation)
        } catch let error as PostgresError {
            throw await store.translated(error)
        }
    }

    private func findAndModify(
        _ filter: Document, _ update: Update, options: FindAndModifyOptions, operation: ChangeEvent.OperationType,
        beforeCommit: CommitHook?
    ) async throws -> Document? {
        let limit = TimeLimit(options.maxTimeMS)
        let target = try await target(filter, options)
        let sort = try Self.sort(options.sort, collation: target.filter.collation)
        let found = try await limit.run {
            try await racing(upsert: options.upsert) {
                try await write(within: limit, beforeCommit: beforeCommit) { session -> Document? in
                    guard let key = try await session.lockFirst(of: target, sort: sort) else {
                        guard options.upsert else { return nil }
                        let inserted = try await session.upsert(target, with: update)
                        return options.returnNew ? inserted : nil
                    }
                    let updated = try await session.update(key, of: target, with: update, operation: operation)
                    return options.returnNew ? updated.after : updated.before
                }
            }
        }
        return try found.map { try output(target, options).projected($0) }
    }

    /// Runs an upsert again if a concurrent one was faster: the next attempt finds that one's document.
    private func racing<R>(upsert: Bool, _ body: () async throws -> R) async throws -> R {
        for _ in 0..<3 where upsert && session == nil {
            do {
                return try await body()
            } catch let error as DocumentStoreError where error.code == .duplicateKey {
                continue
            }
        }
        return try await body()
    }

    /// Runs `body` with the locked documents that match, part by part.
    private func inParts<R: Sendable>(
        of target: DocumentSession.Target, within limit: TimeLimit, beforeCommit: CommitHook?,
        _ body: @Sendable (DocumentSession, [WritePlan.Key]) async throws -> R, each: (R) -> Void
    ) async throws {
        try await limit.run {
            try await self.parts(of: target, within: limit, beforeCommit: beforeCommit, body, each: each)
        }
    }

    private func parts<R: Sendable>(
        of target: DocumentSession.Target, within limit: TimeLimit, beforeCommit: CommitHook?,
        _ body: @Sendable (DocumentSession, [WritePlan.Key]) async throws -> R, each: (R) -> Void
    ) async throws {
        if session != nil || beforeCommit != nil {
            let parts = try await write(within: limit, beforeCommit: beforeCommit) { session -> [R] in
                var parts: [R] = []
                var after: String?
                repeat {
                    let (keys, next) = try await session.lockMatches(of: target, after: after, limit: Self.part)
                    parts.append(try await body(session, keys))
                    after = next
                } while after != nil
                return parts
            }
            parts.forEach(each)
            return
        }
        var after: String?
        var size = Self.part
        repeat {
            do {
                let (start, most) = (after, size)
                let (result, next) = try await write(within: limit, beforeCommit: nil) { session -> (R, String?) in
                    let (keys, next) = try await session.lockMatches(of: target, after: start, limit: most)
                    return (try await body(session, keys), next)
                }
                each(result)
                after = next
                if next == nil { return }
            } catch let error as DocumentStoreError where error.code == .transactionTooLarge && size > 1 {
                // Fewer documents are written together if they are large.
                size = max(size / 8, 1)
            }
        } while true
    }
}

extension DocumentSession {
    func updateFirst(
        _ target: Target, _ update: Update, sort: Sort?, upsert: Bool, operation: ChangeEvent.OperationType
    ) async throws -> UpdateResult {
        guard let key = try await lockFirst(of: target, sort: sort) else {
            guard upsert else { return UpdateResult() }
            return UpdateResult(upsertedId: try await self.upsert(target, with: update)["_id"])
        }
        let updated = try await self.update(key, of: target, with: update, operation: operation)
        return UpdateResult(matchedCount: 1, modifiedCount: updated.isModified ? 1 : 0)
    }
}

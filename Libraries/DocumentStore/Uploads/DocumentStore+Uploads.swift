import DocumentModel
import Postgres
import SyncEngine

extension DocumentStore {
    /// How long a statement of a commit waits for a lock: below `deadlock_timeout`, so that nobody is chosen as a victim.
    static let lockTimeout = Duration.milliseconds(500)

    /// Commits the uploads of devices of one app in one transaction, and answers each.
    ///
    /// A bad changeset doesn't harm the others. One that stays locked out for all attempts gets a ``DocumentStoreError`` with code
    /// `busy`, which says nothing about it: the caller tries again. When Postgres fails, all get its error; whether they
    /// were committed may then be unknown, and sending them again is right, since a changeset is applied once only.
    public func commit(_ uploads: [Upload], app: String) async throws -> [Result<UploadResult, any Error>] {
        var results: [UploadResult?] = Array(repeating: nil, count: uploads.count)
        for attempt in 0..<5 {
            let open = uploads.indices.filter { results[$0] == nil }
            if open.isEmpty { break }
            if attempt > 0 { try await Task.sleep(for: .milliseconds(Int.random(in: 1...(5 << attempt)))) }
            for (place, result) in zip(open, try await self.attempt(open.map { uploads[$0] }, app: app)) {
                results[place] = result
            }
        }
        return results.map { $0.map(Result.success) ?? .failure(DocumentStoreError.lockedOut) }
    }

    /// Tries once. `nil` for an upload that is locked out; nothing of it is committed.
    func attempt(_ uploads: [Upload], app: String) async throws -> [UploadResult?] {
        let storage = try storage(of: app)
        let tables = try await tables(for: uploads, storage: storage)
        for _ in 0..<2 {
            let batch = UploadBatch(storage: storage, uploads: uploads, tables: tables, lockTimeout: Self.lockTimeout)
            do {
                return try await commit(batch)
            } catch let error as PostgresError where error.isWorthAnotherAttempt {
                logger.debug("batch begins anew", metadata: ["error": "\(error)"])
            }
        }
        return try await commitOneByOne(uploads, storage: storage, tables: tables)
    }

    /// When a batch fails as a whole, each for itself shows which one is to blame.
    private func commitOneByOne(
        _ uploads: [Upload], storage: AppStorage, tables: [ExactText: CollectionTable]
    ) async throws -> [UploadResult?] {
        var results: [UploadResult?] = []
        var stalled: Set<UploadCounter.Key> = []
        for upload in uploads {
            var result: UploadResult?
            if !stalled.contains(upload.counter) {
                let batch = UploadBatch(
                    storage: storage, uploads: [upload], tables: tables, lockTimeout: .milliseconds(20))
                do {
                    result = try await commit(batch)[0]
                } catch let error as PostgresError where error.isWorthAnotherAttempt {
                    logger.debug("changeset left its batch", metadata: ["error": "\(error)"])
                }
            }
            if result == nil { stalled.insert(upload.counter) }
            results.append(result)
        }
        return results
    }

    private func commit(_ batch: UploadBatch) async throws -> [UploadResult?] {
        let (results, heads) = try await batch.commit(on: client)
        committed(heads, app: batch.storage.app)
        return results
    }

    private func tables(for uploads: [Upload], storage: AppStorage) async throws -> [ExactText: CollectionTable] {
        var tables: [ExactText: CollectionTable] = [:]
        for upload in uploads {
            for operation in upload.changeset.operations {
                let name = ExactText(operation.collection)
                guard tables[name] == nil, storage.syncedCollections?.contains(operation.collection) ?? true else {
                    continue
                }
                do {
                    tables[name] = try await self.tables.ensured(
                        .init(database: storage.syncDatabase, collection: operation.collection), of: storage)
                } catch let error as DocumentStoreError where error.code == .unknownCollection {
                    continue  // the changeset is rejected for it
                }
            }
        }
        return tables
    }
}

extension PostgresError {
    /// Whether the same transaction, begun anew, may succeed: locked, raced by another insert of the same row, or a grant
    /// that was taken back between the two looks at it.
    var isWorthAnotherAttempt: Bool {
        if isOutcomeUnknown { return false }
        return isRetriable || isUniqueViolation || sqlstate == "PT403"
    }
}

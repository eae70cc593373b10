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
        let storage = try storage(of: app)
        let tables = try await tables(for: uploads, storage: storage)
        var results: [Result<UploadResult, any Error>?] = Array(repeating: nil, count: uploads.count)
        var open = Array(uploads.indices)
        for attempt in 0..<4 {
            if open.isEmpty { break }
            if attempt > 0 { try await Task.sleep(for: .milliseconds(Int.random(in: 1...(5 << attempt)))) }
            let batch = UploadBatch(
                storage: storage, uploads: open.map { uploads[$0] }, tables: tables, lockTimeout: Self.lockTimeout)
            do {
                let attempts = try await commit(batch)
                for (place, attempt) in zip(open, attempts) {
                    if case .done(let result) = attempt { results[place] = .success(result) }
                }
            } catch let error as PostgresError where error.isWorthAnotherAttempt {
                if open.count > 1, attempt > 0 {
                    try await commitOneByOne(open, of: uploads, storage: storage, tables: tables, into: &results)
                    break
                }
            }
            open = open.filter { results[$0] == nil }
        }
        let busy = DocumentStoreError(.busy, "what the changeset needs is locked")
        return results.map { $0 ?? .failure(busy) }
    }

    /// When a batch fails as a whole, each for itself shows which one is to blame.
    private func commitOneByOne(
        _ open: [Int], of uploads: [Upload], storage: AppStorage, tables: [ExactText: CollectionTable],
        into results: inout [Result<UploadResult, any Error>?]
    ) async throws {
        var stalled: Set<UploadCounter.Key> = []
        for place in open where !stalled.contains(uploads[place].counter) {
            let batch = UploadBatch(
                storage: storage, uploads: [uploads[place]], tables: tables, lockTimeout: Self.lockTimeout)
            do {
                if case .done(let result)? = try await commit(batch).first { results[place] = .success(result) }
            } catch let error as PostgresError where error.isWorthAnotherAttempt {
                logger.debug("changeset left its batch", metadata: ["error": "\(error)"])
            }
            if results[place] == nil { stalled.insert(uploads[place].counter) }
        }
    }

    private func commit(_ batch: UploadBatch) async throws -> [UploadBatch.Attempt] {
        let (attempts, heads) = try await batch.commit(on: client)
        committed(heads, app: batch.storage.app)
        return attempts
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

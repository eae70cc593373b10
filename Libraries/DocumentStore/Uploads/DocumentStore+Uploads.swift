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
            } catch let error as PostgresError where error.isAboutData {
                logger.debug("batch has what can't be stored", metadata: ["error": "\(error)"])
                break
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
                } catch let error as PostgresError where error.isAboutData {
                    result = try await refuse(batch, for: error)
                } catch let error as PostgresError where error.isWorthAnotherAttempt {
                    logger.debug("changeset left its batch", metadata: ["error": "\(error)"])
                }
            }
            if result == nil { stalled.insert(upload.counter) }
            results.append(result)
        }
        return results
    }

    /// Postgres can't store what the changeset makes: it is rejected like one that the rules forbid.
    private func refuse(_ batch: UploadBatch, for error: PostgresError) async throws -> UploadResult? {
        logger.warning("changeset can't be stored", metadata: ["error": "\(error)"])
        var batch = batch
        let cause = await translated(error)
        let isExplained = cause.code == .duplicateKey || cause.code == .notSupported
        batch.refusal = OperationRejection(
            code: error.isUniqueViolation ? .duplicateKey : .notStorable,
            reason: isExplained ? cause.message : "the database refused it, SQLSTATE \(error.sqlstate ?? "unknown")",
            path: cause.path)
        return try await commit(batch)[0]
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
                let namespace = ChangeEvent.Namespace(
                    database: storage.syncDatabase, collection: operation.collection)
                guard tables[name] == nil, storage.syncs(namespace) else { continue }
                do {
                    tables[name] = try await self.tables.ensured(namespace, of: storage)
                } catch let error as DocumentStoreError where error.code == .unknownCollection {
                    continue  // the changeset is rejected for it
                }
            }
        }
        return tables
    }
}

extension OperationRejection.Code {
    /// A unique index has the value already.
    public static let duplicateKey = Self(rawValue: "duplicateKey")
    /// The database can't hold the document.
    public static let notStorable = Self(rawValue: "notStorable")
}

extension PostgresError {
    /// Whether the statement failed for what it was given (data exceptions, limits of the program, a unique index other than
    /// that of the ids), so that it will fail again.
    fileprivate var isAboutData: Bool {
        guard let sqlstate else { return false }
        if isUniqueViolation { return constraint.map { !$0.hasSuffix("_pkey") } ?? false }
        return sqlstate == "PT115" || sqlstate.hasPrefix("22") || sqlstate.hasPrefix("54") || sqlstate.hasPrefix("23")
    }

    /// Whether the same transaction, begun anew, may succeed: locked, raced by another write of the same row, or a grant
    /// that was taken back between the two looks at it.
    var isWorthAnotherAttempt: Bool {
        if isOutcomeUnknown { return false }
        return isRetriable || isUniqueViolation || sqlstate == "PT403" || sqlstate == "PT409"
    }
}

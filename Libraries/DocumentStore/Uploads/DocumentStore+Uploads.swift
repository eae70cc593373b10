import DocumentModel
import Postgres
public import SyncEngine

extension DocumentStore {
    /// How long a statement of a commit waits for a lock: less than `deadlock_timeout`, so that Postgres doesn't choose a deadlock
    /// victim.
    static let lockTimeout = Duration.milliseconds(500)

    /// Takes what a decided upload costs as processor time: the time of the decision, and what follows from large changes.
    public typealias UploadCharge = @Sendable (Upload, Duration) -> Void

    /// Commits the uploads of devices of one app in one transaction, and returns a result for each: `nil` if it needs rows that
    /// another transaction has locked, or if the decisions before it took too long, or a failure (`unavailable`) if something in the
    /// database has to be repaired for it. Nothing of these uploads is committed, and they don't affect the others; the caller
    /// retries them.
    /// - Parameter charge: called for each decided upload, also when the transaction fails later.
    /// - Throws: what Postgres throws. Whether the uploads were committed may then be unknown; the caller should commit them again,
    ///   since a changeset is applied only once.
    public func commit(
        _ uploads: [Upload], app: String, charge: @escaping UploadCharge = { _, _ in }
    ) async throws -> [Result<UploadResult, any Error>?] {
        let storage = try storage(of: app)
        let keys = uploads.map { UploadFaults.Key($0, app: app) }
        let (tables, failures) = try await tables(for: uploads, storage: storage)
        var results: [Result<UploadResult, any Error>?] = Array(repeating: nil, count: uploads.count)
        // Later uploads of a device can't be committed if an earlier one fails.
        var stalled: [UploadCounter.Key: any Error] = [:]
        for (place, key) in keys.enumerated() {
            var refusal: (any Error)? = stalled[uploads[place].counter]
            if refusal == nil { refusal = uploadFaults.refusal(of: key) }
            if refusal == nil, let failure = key.collections.lazy.compactMap({ failures[$0] }).first {
                refusal = uploadFaults.failed(key, failure, logger: logger)
            }
            guard let refusal else { continue }
            stalled[uploads[place].counter] = refusal
            results[place] = .failure(refusal)
        }
        let open = uploads.indices.filter { results[$0] == nil }
        if open.isEmpty { return results }
        let context = BatchContext(storage: storage, tables: tables, charge: charge)
        let attempted = try await commitTogether(open.map { uploads[$0] }, keys: open.map { keys[$0] }, context)
        for (place, result) in zip(open, attempted) { results[place] = result }
        return results
    }

    /// What all batches of a call have in common.
    private struct BatchContext {
        let storage: AppStorage
        let tables: [ExactText: CollectionTable]
        let charge: UploadCharge

        func batch(_ uploads: [Upload], lockTimeout: Duration) -> UploadBatch {
            UploadBatch(storage: storage, uploads: uploads, tables: tables, lockTimeout: lockTimeout, charge: charge)
        }
    }

    private func commitTogether(
        _ uploads: [Upload], keys: [UploadFaults.Key], _ context: BatchContext
    ) async throws -> [Result<UploadResult, any Error>?] {
        for _ in 0..<2 {
            let batch = context.batch(uploads, lockTimeout: Self.lockTimeout)
            do {
                let results = try await commit(batch)
                for (key, result) in zip(keys, results) where result != nil {
                    uploadFaults.succeeded(key, logger: logger)
                }
                return results.map { $0.map(Result.success) }
            } catch let error as PostgresError where error.isOneChangesets {
                logger.debug("batch contains data that can't be stored", metadata: ["error": "\(error)"])
                break
            } catch let error as PostgresError where error.isWorthAnotherAttempt {
                logger.debug("batch is started again", metadata: ["error": "\(error)"])
            }
        }
        return try await commitOneByOne(uploads, keys: keys, context)
    }

    /// Commits the uploads of a failed batch separately, which shows which one causes the failure.
    private func commitOneByOne(
        _ uploads: [Upload], keys: [UploadFaults.Key], _ context: BatchContext
    ) async throws -> [Result<UploadResult, any Error>?] {
        var results: [Result<UploadResult, any Error>?] = []
        // The result for later uploads of the same device: none yet, or the same failure.
        var stalled: [UploadCounter.Key: Result<UploadResult, any Error>?] = [:]
        for (upload, key) in zip(uploads, keys) {
            var result: Result<UploadResult, any Error>?
            if let other = stalled[upload.counter] {
                result = other
            } else if let refusal = uploadFaults.refusal(of: key) {
                result = .failure(refusal)
            } else {
                result = try await commitAlone(upload, key: key, context)
            }
            switch result {
            case .success: break
            case .failure, nil: stalled.updateValue(result, forKey: upload.counter)
            }
            results.append(result)
        }
        return results
    }

    private func commitAlone(
        _ upload: Upload, key: UploadFaults.Key, _ context: BatchContext
    ) async throws -> Result<UploadResult, any Error>? {
        let batch = context.batch([upload], lockTimeout: .milliseconds(20))
        do {
            let result: UploadResult?
            do {
                result = try await commit(batch)[0]
            } catch let error as PostgresError where error.isAboutData {
                result = try await refuse(batch, for: error)
            }
            if result != nil { uploadFaults.succeeded(key, logger: logger) }
            return result.map(Result.success)
        } catch let error as PostgresError where error.failureClass == .broken {
            return .failure(uploadFaults.failed(key, error, logger: logger))
        } catch let error as PostgresError where error.isWorthAnotherAttempt {
            logger.debug("changeset left its batch", metadata: ["error": "\(error)"])
            return nil
        }
    }

    /// Rejects a changeset whose documents Postgres can't store, as if the rules forbade it.
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
        let (results, heads, plan) = try await batch.commit(on: client)
        committed(heads, app: batch.storage.app, plan: plan)
        return results
    }

    private func tables(for uploads: [Upload], storage: AppStorage) async throws -> (
        tables: [ExactText: CollectionTable], failures: [ExactText: PostgresError]
    ) {
        var tables: [ExactText: CollectionTable] = [:]
        var failures: [ExactText: PostgresError] = [:]
        for upload in uploads {
            for operation in upload.changeset.operations {
                let name = ExactText(operation.collection)
                let namespace = ChangeEvent.Namespace(
                    database: storage.syncDatabase, collection: operation.collection)
                guard tables[name] == nil, failures[name] == nil, storage.syncs(namespace),
                    uploadFaults.refusal(of: .init(upload, app: storage.app)) == nil
                else { continue }
                do {
                    tables[name] = try await self.tables.ensured(namespace, of: storage)
                } catch let error as DocumentStoreError where error.code == .unknownCollection {
                    continue  // the changeset is rejected for it
                } catch let error as PostgresError where error.failureClass == .broken {
                    failures[name] = error
                }
            }
        }
        return (tables, failures)
    }
}

extension PostgresError {
    /// Whether the statement failed because of its data, or because of a unique index other than the one on `_id`, so that it will
    /// fail again.
    fileprivate var isAboutData: Bool {
        if isUniqueViolation { return constraint.map { !$0.hasSuffix("_pkey") } ?? false }
        return failureClass == .refused
    }

    /// Whether one changeset of a batch may cause the failure, so that the others may be committed.
    fileprivate var isOneChangesets: Bool { isAboutData || failureClass == .broken }

    /// Whether the same transaction may succeed when it is started again: it couldn't acquire a lock, another transaction wrote the
    /// same row, or a grant was revoked between the two reads of it.
    var isWorthAnotherAttempt: Bool {
        if isOutcomeUnknown { return false }
        return isRetriable || isUniqueViolation
    }
}

import DocumentModel
import EventLoop
import Logging
import Postgres
import SyncEngine

/// Remembers changesets that can't be committed until an operator has repaired the database: by the collections that they write, so
/// that changesets for other collections aren't affected.
///
/// During a pause, which grows from half a second to half a minute, such a changeset is refused without asking Postgres, so that it
/// doesn't fail a batch. Then one changeset is tried; when it is committed, the others are tried again too.
final class UploadFaults: Sendable {
    /// An app and the collections of a changeset.
    struct Key: Hashable, Sendable {
        let app: ExactText
        let collections: Set<ExactText>

        init(_ upload: Upload, app: String) {
            self.app = ExactText(app)
            collections = Set(upload.changeset.operations.map { ExactText($0.collection) })
        }
    }

    private struct Fault {
        var until: ContinuousClock.Instant
        var backoff = RetryBackoff(RetrySchedule(first: .milliseconds(500), limit: .seconds(30)))
        var reported = FailureChanges()
        var error: DocumentStoreError
    }

    private let faults = Locked<[Key: Fault]>([:])
    private let metrics = UploadMetrics()
    /// The most faults that are remembered; when there are more, the ones whose pause ends first are forgotten, and Postgres is
    /// asked about them again.
    private static let limit = 1000

    /// The error for a changeset that isn't tried now; `nil` if it may be tried.
    func refusal(of key: Key) -> DocumentStoreError? {
        faults.withLock { faults in
            guard let fault = faults[key], ContinuousClock.now < fault.until else { return nil }
            return fault.error
        }
    }

    /// Records that a changeset failed because of something that an operator has to repair.
    /// - Returns: the error for the device.
    func failed(_ key: Key, _ error: PostgresError, logger: Logger) -> DocumentStoreError {
        metrics.held.increment()
        let told = DocumentStoreError(.unavailable, "the database can't take this now", underlying: error)
        let isNew = faults.withLock { faults in
            if faults.count >= Self.limit, faults[key] == nil,
                let oldest = faults.min(by: { $0.value.until < $1.value.until })
            {
                faults[oldest.key] = nil
            }
            var fault = faults[key] ?? Fault(until: .now, error: told)
            fault.error = told
            fault.until = .now + fault.backoff.next()
            let isNew = fault.reported.isNew("\(error)")
            faults[key] = fault
            return isNew
        }
        if isNew {
            logger.error(
                "changesets can't be committed until the database is repaired",
                metadata: [
                    "app": "\(key.app.text)",
                    "collections": "\(key.collections.map(\.text).sorted().joined(separator: ", "))",
                    "error": "\(error)",
                ])
        }
        return told
    }

    /// Records that a changeset was committed, or rejected because of its contents.
    func succeeded(_ key: Key, logger: Logger) {
        guard faults.withLock({ $0.isEmpty ? nil : $0.removeValue(forKey: key) }) != nil else { return }
        logger.notice(
            "changesets are committed again",
            metadata: [
                "app": "\(key.app.text)",
                "collections": "\(key.collections.map(\.text).sorted().joined(separator: ", "))",
            ])
    }
}

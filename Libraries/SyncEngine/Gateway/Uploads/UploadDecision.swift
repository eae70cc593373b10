public import DocumentModel
import QueryLanguage

/// Decides about the changesets that devices of one app have sent: which are new, which are sent again and which come from a clone,
/// how each changes the documents, and how each is answered.
///
/// The decision depends only on the values that were passed to the `take` methods: the document store passes what it has read under
/// locks, simulations and test fakes what they have in memory.
public struct UploadDecision: Sendable {
    /// Identifies the grant of a user in a partition.
    public struct GrantKey: Hashable, Sendable {
        public let partition: ExactText
        public let user: ExactText

        public init(partition: Partition, user: String) {
            self.partition = ExactText(partition.text)
            self.user = ExactText(user)
        }
    }

    /// The answer to an upload, whose revision may not be known yet.
    private enum Draft {
        /// What it needs is locked.
        case busy
        case done(UploadResult)
        /// `ordinal` counts in the upload's partition.
        case committed(partition: Partition, ordinal: Int64, lost: [LostWrite])
    }

    public let storage: AppStorage
    /// The document writes.
    public private(set) var plan: WritePlan
    /// The devices' upload counters; those that have changed (`hasChanged`) have to be stored.
    public private(set) var counters: [UploadCounter.Key: UploadCounter] = [:]
    /// The grants that the changesets need; they are checked again after everything is written.
    public private(set) var requiredGrants: Set<GrantKey> = []
    /// The outcomes to store, of changesets that have more to report than their revision.
    public private(set) var newOutcomes: [(upload: Upload, outcome: UploadOutcome)] = []
    private let interruption: @Sendable () -> Interruption?
    private var drafts: [Draft]
    private var busyDocuments: Set<WritePlan.Key> = []
    /// Counters with a changeset that has left the batch: their later changesets leave it, too.
    private var stalled: Set<UploadCounter.Key> = []
    private var mayWrite: [GrantKey: Bool] = [:]
    /// The grants of which it isn't known whether the user may write.
    private var undecided: Set<GrantKey> = []
    private var heads: [ExactText: Revision] = [:]
    /// By the upload's place.
    private var knownOutcomes: [Int: UploadOutcome] = [:]

    /// - Parameters:
    ///   - count: how many uploads there are.
    ///   - interruption: created for each changeset; interrupts the rules when they take too long.
    public init(
        storage: AppStorage, count: Int, interruption: @escaping @Sendable () -> Interruption? = { nil }
    ) {
        self.storage = storage
        self.interruption = interruption
        plan = WritePlan(storage: storage)
        drafts = Array(repeating: .busy, count: count)
    }

    // MARK: What was read

    /// Takes the upload counter of a device.
    public mutating func take(_ counter: UploadCounter, of key: UploadCounter.Key) { counters[key] = counter }

    /// Takes a document as it was found; `nil` for one that doesn't exist.
    public mutating func take(_ found: WorkingDocument.State?, of namespace: ChangeEvent.Namespace, id: String) {
        plan.hold(namespace, id: id, found: found)
    }

    /// Takes a document that another transaction has locked: the changesets that need it leave the batch.
    public mutating func takeLocked(_ namespace: ChangeEvent.Namespace, id: String) {
        busyDocuments.insert(.init(namespace, id: id))
    }

    /// Takes whether a user may write a partition.
    /// - Parameter mayWrite: `nil` if that isn't known: the grant has expired, and there is no other one yet.
    public mutating func take(mayWrite: Bool?, _ grant: GrantKey) {
        self.mayWrite[grant] = mayWrite
        if mayWrite == nil { undecided.insert(grant) }
    }

    /// Takes the head of a partition.
    public mutating func take(head: Revision, of partition: Partition) { heads[ExactText(partition.text)] = head }

    /// Takes the outcome that was stored when the upload at `index` arrived for the first time.
    public mutating func take(_ outcome: UploadOutcome, at index: Int) { knownOutcomes[index] = outcome }

    /// The version under which the changeset may have been decided before: its outcome is needed. `nil` for a new one.
    public func knownVersion(of upload: Upload) -> Int64? {
        counters[upload.counter]?.knownVersion(of: upload)
    }

    // MARK: Applying

    /// Decides an upload, after those before it.
    ///
    /// - Parameters:
    ///   - index: its place.
    ///   - refusal: why the store can't write it, found when it was tried before.
    public mutating func apply(_ upload: Upload, at index: Int, refusal: OperationRejection? = nil) {
        let key = upload.counter
        guard !stalled.contains(key), var counter = counters[key] else { return }
        let digest = upload.digest
        switch counter.place(of: upload) {
        case .next: break
        case .again(let entry):
            if let draft = repeated(entry, at: index) { drafts[index] = draft }
            return
        case .renumbered(let entry):
            guard let draft = repeated(entry, at: index) else {
                stalled.insert(key)
                return
            }
            // It takes its number all the same, so that those behind it follow.
            counter.add(entry, schemaVersion: upload.schemaVersion)
            counters[key] = counter
            if let outcome = knownOutcomes[index] { newOutcomes.append((upload, outcome)) }
            drafts[index] = draft
            return
        case .foreign:
            counter.close()
            counters[key] = counter
            return drafts[index] = .done(.forked)
        case .forgotten:
            let reason = "version \(upload.changeset.version) was decided too long ago to know whether it is this one"
            return drafts[index] = .done(.rejected(OperationRejection(code: .outcomeUnknown, reason: reason)))
        case .early(let expected): return drafts[index] = .done(.outOfOrder(expected: expected))
        }
        let grant = GrantKey(partition: upload.partition, user: upload.user)
        // A rejection would be final: the device would undo its write.
        if undecided.contains(grant) { return drafts[index] = .done(.undecided(upload.partition)) }
        var run = ChangesetRun(upload: upload, storage: storage, interruption: interruption())
        do throws(ChangesetRun.Stop) {
            if let refusal { throw .rejected(refusal) }
            if mayWrite[grant] != true {
                throw ChangesetRun.Stop.rejected(
                    OperationRejection(code: .notPermitted, reason: "the user may not write this partition"))
            }
            for place in upload.changeset.operations.indices { try run.apply(place, in: plan, busy: busyDocuments) }
            try run.check(mayWrite: mayWrite, undecided: undecided)
        } catch {
            switch error {
            case .busy: stalled.insert(key)
            case .undecided(let partition): drafts[index] = .done(.undecided(partition))
            case .rejected(let rejection): reject(upload, at: index, as: rejection, digest: digest, counter: &counter)
            }
            return
        }
        commit(run, at: index, digest: digest, counter: &counter)
    }

    private mutating func commit(_ run: ChangesetRun, at index: Int, digest: UInt64, counter: inout UploadCounter) {
        let upload = run.upload
        run.record(in: &plan)
        requiredGrants.insert(.init(partition: upload.partition, user: upload.user))
        for partition in run.targets { requiredGrants.insert(.init(partition: partition, user: upload.user)) }
        if !run.lost.isEmpty { newOutcomes.append((upload, .lost(run.lost))) }
        // A changeset that changed nothing lost to what is committed, or to what is before it in this batch.
        let ordinal = plan.count(in: upload.partition)
        if ordinal > 0 {
            counter.add(
                .init(digest: digest, revision: .provisional(ordinal)), schemaVersion: upload.schemaVersion)
            drafts[index] = .committed(partition: upload.partition, ordinal: ordinal, lost: run.lost)
        } else {
            let head = head(of: upload.partition)
            counter.add(.init(digest: digest, revision: head), schemaVersion: upload.schemaVersion)
            drafts[index] = .done(.acknowledged(Acknowledgement(revision: head, lost: run.lost)))
        }
        counters[upload.counter] = counter
    }

    private mutating func reject(
        _ upload: Upload, at index: Int, as rejection: OperationRejection, digest: UInt64, counter: inout UploadCounter
    ) {
        counter.add(
            .init(digest: digest, revision: head(of: upload.partition)), schemaVersion: upload.schemaVersion)
        counters[upload.counter] = counter
        newOutcomes.append((upload, .rejected(rejection)))
        drafts[index] = .done(.rejected(rejection))
    }

    private func head(of partition: Partition) -> Revision {
        heads[ExactText(partition.text)] ?? Revision(epoch: 1, number: 0)
    }

    /// The answer to a changeset that was decided before; `nil` when that was in this batch, so that it has no revision yet.
    private func repeated(_ entry: UploadCounter.Entry, at index: Int) -> Draft? {
        if entry.revision.isProvisional { return nil }
        switch knownOutcomes[index] {
        case .rejected(let rejection): return .done(.rejected(rejection))
        case .lost(let lost): return .done(.acknowledged(.init(revision: entry.revision, lost: lost)))
        case nil: return .done(.acknowledged(.init(revision: entry.revision)))
        }
    }

    /// The answers, once the heads are known; `nil` for uploads that left the batch.
    public func results(heads: [CommittedHead]) -> [UploadResult?] {
        var revisions: [ExactText: Revision] = [:]
        for head in heads { revisions[ExactText(head.partition.text)] = head.revision }
        return drafts.map { draft in
            switch draft {
            case .busy: return nil
            case .done(let result): return result
            case .committed(let partition, let ordinal, let lost):
                guard let head = revisions[ExactText(partition.text)] else { return nil }
                let number = head.number - plan.back(ordinal, in: partition)
                return .acknowledged(.init(revision: Revision(epoch: head.epoch, number: number), lost: lost))
            }
        }
    }
}

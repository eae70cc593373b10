public import DocumentModel
public import SyncEngine

/// A document store in memory for simulations and fakes. Uploads are decided by the servers' own code
/// (`UploadDecision`); this stands only for Postgres: rows, revisions, tombstones, counters.
public struct MemoryStore: Sendable {
    /// The tombstone of a deleted document; it stays when a document with this id is inserted again.
    public struct Tombstone: Sendable {
        public var id: Value
        public var revision: Revision
        public var incarnation: Revision
    }

    /// The contents of a partition.
    public struct Contents: Sendable {
        /// The partition's newest revision.
        public internal(set) var head: Revision
        public internal(set) var documents: [DocumentKey: StoredDocument] = [:]
        /// What a device holds that has everything.
        public var holdings: Holdings {
            var holdings = Holdings()
            for document in documents.values {
                holdings.add(revision: document.revision, incarnation: document.incarnation)
            }
            return holdings
        }
        /// Their texts.
        fileprivate var bodies: [DocumentKey: [UInt8]] = [:]
        public internal(set) var tombstones: [DocumentKey: Tombstone] = [:]
        /// Deletions up to this revision have no tombstone any more.
        public internal(set) var tombstoneHorizon = EpochHistory.beginning
    }

    /// What one commit changed in a partition.
    public struct Changes: Sendable {
        public var partition: Partition
        public var before: Revision
        public var after: Revision
        public var changes: [DocumentChange]
    }

    public let storage: AppStorage
    public private(set) var epoch: Int32 = 1
    private var partitions: [Partition: Contents] = [:]
    private var counters: [UploadCounter.Key: UploadCounter] = [:]
    private var outcomes: [UploadCounter.Key: [Int64: UploadOutcome]] = [:]

    /// The documents that batches have locked.
    private var locked: Set<DocumentKey> = []

    public init(storage: AppStorage) { self.storage = storage }

    public subscript(partition: Partition) -> Contents {
        partitions[partition] ?? Contents(head: Revision(epoch: epoch, number: 0))
    }

    /// The last version of a device that was decided.
    public func lastVersion(of device: String, user: String, in partition: Partition) -> Int64 {
        counters[.init(user: user, device: device, partition: partition.text)]?.lastVersion ?? 0
    }

    /// Goes back to an earlier state, as a restore from a backup does, under a new epoch: the revisions of the next writes have it.
    public mutating func restore(_ backup: MemoryStore) {
        let next = epoch + 1
        self = backup
        epoch = next
        locked = []
    }

    /// Drops the tombstones of a partition, as a store does with those that are old.
    /// - Returns: Whether there was one.
    public mutating func dropTombstones(of partition: Partition) -> Bool {
        var contents = self[partition]
        guard let last = contents.tombstones.values.map(\.revision).max() else { return false }
        contents.tombstones = [:]
        contents.tombstoneHorizon = max(contents.tombstoneHorizon, last)
        partitions[partition] = contents
        return true
    }

    // MARK: Writes

    /// Uploads that are decided and not committed yet, as between the two round trips of the servers' transaction.
    public struct Batch: Sendable {
        fileprivate let uploads: [Upload]
        fileprivate var decision: UploadDecision
        /// The documents that it has locked, and those that didn't exist.
        fileprivate var held: Set<DocumentKey> = []
        fileprivate var absent: Set<DocumentKey> = []
        /// The counters and heads that were read.
        fileprivate var counters: [UploadCounter.Key: UploadCounter] = [:]
        fileprivate var heads: [Partition: Revision] = [:]
        fileprivate let epoch: Int32

        /// The rights that what was accepted needs.
        public var requiredGrants: Set<UploadDecision.GrantKey> { decision.requiredGrants }
    }

    /// Commits uploads together, as one batch of the servers does.
    ///
    /// - Parameter mayWrite: whether a user may write a partition.
    /// - Returns: the answers, `nil` for one that is a repetition inside of the batch; and what changed.
    public mutating func commit(
        _ uploads: [Upload], mayWrite: (Partition, _ user: String) -> Bool? = { _, _ in true }
    ) -> (results: [UploadResult?], changes: [Changes]) {
        guard let committed = finish(begin(uploads, mayWrite: mayWrite), mayWrite: mayWrite) else {
            preconditionFailure("nothing happened in between that would make it begin again")
        }
        return committed
    }

    /// The first half of a commit: locks and reads what the uploads need, and decides about them.
    public mutating func begin(_ uploads: [Upload], mayWrite: (Partition, _ user: String) -> Bool?) -> Batch {
        var batch = Batch(
            uploads: uploads, decision: UploadDecision(storage: storage, count: uploads.count), epoch: epoch)
        for (index, upload) in uploads.enumerated() { offer(upload, at: index, to: &batch, mayWrite) }
        locked.formUnion(batch.held)
        for (index, upload) in uploads.enumerated() { batch.decision.apply(upload, at: index) }
        return batch
    }

    /// The second half of a commit: checks what isn't locked again, and writes.
    ///
    /// - Parameter mayWrite: whether a user may write a partition now; `nil` if that isn't known.
    /// - Returns: `nil` when something has changed meanwhile: nothing is written, and the batch has to begin again.
    public mutating func finish(
        _ batch: Batch, mayWrite: (Partition, _ user: String) -> Bool?
    ) -> (results: [UploadResult?], changes: [Changes])? {
        // A restore has ended its transaction.
        guard batch.epoch == epoch else { return nil }
        locked.subtract(batch.held)
        let decision = batch.decision
        let isStanding =
            batch.counters.allSatisfy { key, read in
                let present = counters[key] ?? UploadCounter()
                return present.lastVersion == read.lastVersion && present.isClosed == read.isClosed
            }
            && batch.absent.allSatisfy { found($0.idText, of: $0.collection) == nil }
            // What writes nothing names a head, and is decided again if it has moved: as if it had read later.
            && (!decision.plan.isEmpty || batch.heads.allSatisfy { self[$0.key].head == $0.value })
            && decision.requiredGrants.allSatisfy {
                mayWrite(Partition(text: $0.partition.text), $0.user.text) == true
            }
        guard isStanding else { return nil }
        let (heads, changes) = write(decision.plan)
        for (key, counter) in decision.counters where counter.hasChanged {
            counters[key] = UploadCounter(
                lastVersion: counter.lastVersion,
                recent: (counter.staying + counter.added).suffix(UploadCounter.kept).map { entry in
                    var entry = entry
                    if entry.revision.isProvisional {
                        entry.revision = revision(
                            entry.revision.number, in: Partition(text: key.partition.text), decision.plan)
                    }
                    return entry
                }, isClosed: counter.isClosed)
        }
        for (upload, outcome) in decision.newOutcomes {
            outcomes[upload.counter, default: [:]][upload.changeset.version] = outcome
        }
        return (decision.results(heads: heads), changes)
    }

    /// Collects what a decision may need for an upload.
    private func offer(
        _ upload: Upload, at index: Int, to batch: inout Batch, _ mayWrite: (Partition, String) -> Bool?
    ) {
        if batch.decision.counters[upload.counter] == nil {
            let counter = counters[upload.counter] ?? UploadCounter()
            batch.decision.take(counter, of: upload.counter)
            batch.counters[upload.counter] = counter
        }
        let head = self[upload.partition].head
        batch.decision.take(head: head, of: upload.partition)
        batch.heads[upload.partition] = head
        var wanted = [upload.partition]
        for operation in upload.changeset.operations {
            if let id = operation.id.storableId {
                let namespace = namespace(of: operation.collection)
                let key = DocumentKey(collection: operation.collection, idText: id)
                if locked.contains(key) {
                    batch.decision.takeLocked(namespace, id: id)
                } else {
                    let found = found(id, of: operation.collection)
                    if found == nil { batch.absent.insert(key) } else { batch.held.insert(key) }
                    batch.decision.take(found, of: namespace, id: id)
                }
            }
            if let target = storage.partitionKey.flatMap({ operation.target(by: $0) }) { wanted.append(target) }
        }
        for partition in wanted {
            batch.decision.take(
                mayWrite: mayWrite(partition, upload.user), .init(partition: partition, user: upload.user))
        }
        if let version = batch.decision.knownVersion(of: upload), let outcome = outcomes[upload.counter]?[version] {
            batch.decision.take(outcome, at: index)
        }
    }

    /// Whether a batch has locked a document.
    public func isLocked(_ key: DocumentKey) -> Bool { locked.contains(key) }

    private func namespace(of collection: String) -> ChangeEvent.Namespace {
        .init(database: storage.syncDatabase, collection: collection)
    }

    private func found(_ id: String, of collection: String) -> WorkingDocument.State? {
        let key = DocumentKey(collection: collection, idText: id)
        for (partition, contents) in partitions {
            guard let stored = contents.documents[key], let body = contents.bodies[key] else { continue }
            return .init(partition: partition, stored: stored, body: body)
        }
        return nil
    }

    private func body(of document: Document) -> [UInt8] {
        guard let body = try? document.storedBody() else { preconditionFailure("\(document) can't be stored") }
        return body
    }

    /// A write from the server's side, which counts however late it is.
    public mutating func set(
        _ field: String, _ value: Value, of key: DocumentKey, milliseconds: Int64
    ) -> [Changes] {
        guard let found = found(key.idText, of: key.collection) else { return [] }
        // What is there already isn't written again, as in MongoDB.
        if found.stored.document[field] == value { return [] }
        let namespace = namespace(of: key.collection)
        var plan = WritePlan(storage: storage)
        plan.hold(namespace, id: key.idText, found: found)
        let stamp = WriteStamp(author: WriteStamp.serverAuthor, time: HybridTime(milliseconds: milliseconds))
        var stored = found.stored
        stored.document[field] = value
        stored.clocks.record(
            UpdateDescription(updatedFields: [field: value]), in: stored.document, by: stamp,
            revision: WritePlan.pending)
        plan.record(.init(namespace, id: key.idText), as: stored, body: body(of: stored.document), by: stamp)
        return write(plan).changes
    }

    /// Applies a plan as Postgres does: heads advance, ordinals become revisions, rows and tombstones are written.
    private mutating func write(_ plan: WritePlan) -> (heads: [CommittedHead], changes: [Changes]) {
        var changes: [Partition: Changes] = [:]
        for (text, count) in plan.counts {
            let partition = Partition(text: text.text)
            var contents = self[partition]
            // In the epoch of the changes, as a gateway computes it from the first of them.
            let before = Revision(epoch: epoch, number: contents.head.number)
            contents.head = Revision(epoch: epoch, number: before.number + count)
            partitions[partition] = contents
            changes[partition] = Changes(partition: partition, before: before, after: contents.head, changes: [])
        }
        for key in plan.order {
            guard let document = plan[key] else { continue }
            let name = DocumentKey(collection: document.namespace.collection, idText: document.id)
            for change in document.changes {
                let event = event(change, of: document, plan)
                changes[change.partition]?.changes.append(event)
                if change.operation == .delete {
                    partitions[change.partition]?.documents[name] = nil
                    partitions[change.partition]?.bodies[name] = nil
                    partitions[change.partition]?.tombstones[name] = Tombstone(
                        id: event.id, revision: event.revision, incarnation: event.incarnation)
                }
            }
            guard let current = document.current else { continue }
            var stored = current.stored
            stored.mapRevisions { revision($0.number, in: current.partition, plan) }
            partitions[current.partition]?.documents[name] = stored
            partitions[current.partition]?.bodies[name] = current.body
        }
        let sorted = changes.values.sorted { $0.partition.text < $1.partition.text }.map { part in
            var part = part
            part.changes.sort { $0.revision < $1.revision }
            return part
        }
        return (sorted.map { CommittedHead(partition: $0.partition, revision: $0.after) }, sorted)
    }

    private func event(_ change: WorkingDocument.Change, of document: WorkingDocument, _ plan: WritePlan)
        -> DocumentChange
    {
        let incarnation = change.incarnation
        return DocumentChange(
            collection: document.namespace.collection, id: Value(idText: document.id) ?? .null,
            revision: revision(change.ordinal, in: change.partition, plan),
            incarnation: incarnation.isProvisional
                ? revision(incarnation.number, in: change.partition, plan) : incarnation,
            document: change.after.flatMap { try? ExtendedJSON.parseDocument($0) },
            origin: change.origin.map { .init(device: $0.device, version: $0.version) })
    }

    private func revision(_ ordinal: Int64, in partition: Partition, _ plan: WritePlan) -> Revision {
        Revision(epoch: epoch, number: self[partition].head.number - plan.back(ordinal, in: partition))
    }

    // MARK: Reads

    /// A chunk of catch-up.
    ///
    /// - Parameters:
    ///   - point: where the device is served from: a checkpoint of the history; of number 0 for all there is. What was deleted up to the
    ///     horizon is left out.
    ///   - limit: how many changes at the most.
    public func chunk(
        of partition: Partition, from point: ResumePoint, limit: Int, device: String, user: String
    ) -> CatchUpChunk<Download> {
        let from = point.revision
        let contents = self[partition]
        var changes = contents.documents.map { key, stored in
            DocumentChange(
                collection: key.collection, id: stored.document["_id"] ?? .null, revision: stored.revision,
                incarnation: stored.incarnation, document: stored.document)
        }
        changes += contents.tombstones.filter { $0.value.revision > point.horizon }.map { key, tombstone in
            DocumentChange(
                collection: key.collection, id: tombstone.id, revision: tombstone.revision,
                incarnation: tombstone.incarnation, document: nil)
        }
        changes = changes.filter { from.number == 0 || $0.revision > from }.sorted { $0.revision < $1.revision }
        let taken = Array(changes.prefix(limit))
        // After a restore the head may be before what a device has, until the device learns of the epoch.
        let head = max(contents.head, from)
        let to = taken.count == changes.count ? head : taken.last?.revision ?? head
        let last = lastVersion(of: device, user: user, in: partition)
        let download = Download(
            from: from, to: to, changes: taken,
            catchUp: .init(isFinal: to == head, lastVersion: last, progress: .init(done: 0, total: 0)))
        return CatchUpChunk(
            from: from, to: to, head: head, count: taken.count, remaining: changes.count, lastVersion: last,
            epoch: epoch, tombstoneHorizon: contents.tombstoneHorizon, byteCount: taken.count, payload: download)
    }
}

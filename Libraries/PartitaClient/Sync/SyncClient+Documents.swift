import DocumentModel
import QueryLanguage
import SyncEngine
import SyncProtocol

/// A query whose results the app observes.
struct Observation {
    let partition: Partition
    let collection: String
    let filter: Filter
    let continuation: AsyncStream<[Document]>.Continuation
    var matching: [DocumentKey: Document] = [:]
    /// Whether the results lack a change, since the store couldn't be read.
    var isStale = false

    /// The results, sorted by the texts of their `_id`s.
    var documents: [Document] { matching.sorted { $0.key < $1.key }.map(\.value) }
}

extension SyncClient {
    // MARK: Opening

    /// - Throws: `closed` when the session has ended: its store is closed.
    private func requireStore() throws(PartitaError) {
        if isStopped { throw PartitaError(code: .closed, message: "the session has ended on this device") }
    }

    func open(_ partition: Partition) throws {
        try requireStore()
        if partitions[partition] != nil, partitions[partition]?.revoked == nil {
            partitions[partition]?.handles += 1
            if partitions[partition]?.refusal != nil { subscribe(partition) }
            return
        }
        let handles = partitions[partition]?.handles ?? 0
        lastOpened += 1
        var open = OpenPartition(
            bookkeeping: try store.partition(partition), number: lastOpened,
            backoff: Backoff(base: .seconds(1), limit: .seconds(60), seed: .random(in: 0 ... .max)))
        open.handles = handles + 1
        if let former = partitions[partition] { open.states = former.states }
        open.refusal = ending
        partitions[partition] = open
        publishState(of: partition)
        subscribe(partition)
    }

    func close(_ partition: Partition) {
        guard let open = partitions[partition] else { return }
        if open.handles > 1 {
            partitions[partition]?.handles -= 1
            return
        }
        if open.revoked == nil { send(.unsubscribe(partition: partition)) }
        uploads.forget(partition)
        partitions[partition]?.states.finish()
        partitions[partition] = nil
        if open.refusal == nil { subscribeNextWaiting() }
        for (number, observation) in observations where observation.partition == partition {
            observation.continuation.finish()
            observations[number] = nil
        }
    }

    /// The open partitions, those that were opened first before others.
    var inOrder: [Partition] { partitions.sorted { $0.value.number < $1.value.number }.map(\.key) }

    /// A place has become free for a partition that had none.
    func subscribeNextWaiting() {
        let waiting = inOrder.first {
            partitions[$0]?.refusal?.serverCode == SyncErrorCode.tooManySubscriptions.rawValue
        }
        if let waiting { subscribe(waiting) }
    }

    func publishState(of partition: Partition) {
        guard let open = partitions[partition] else { return }
        open.states.send(open.state)
    }

    func states(of partition: Partition) throws -> AsyncStream<PartitionState> {
        let first = try opened(partition).state
        let stream = partitions[partition]?.states.stream(first: first) { [weak self] id in
            // Called on any thread when the reader has ended; the stream is removed then.
            Task { await self?.forgetStates(id, of: partition) }
        }
        return stream ?? AsyncStream { $0.finish() }
    }

    private func forgetStates(_ id: StreamID, of partition: Partition) { partitions[partition]?.states.remove(id) }

    func opened(_ partition: Partition) throws -> OpenPartition {
        try requireStore()
        guard let open = partitions[partition] else {
            throw PartitaError(code: .closed, message: "the partition was closed")
        }
        if let reason = open.revoked {
            throw PartitaError(code: .revoked, message: "the partition may not be read", serverCode: reason)
        }
        return open
    }

    // MARK: Reading

    func find(_ partition: Partition, _ collection: String, _ filter: Filter) throws -> [Document] {
        _ = try opened(partition)
        return try store.shownDocuments(partition, collection: collection, where: filter).map(\.document)
    }

    func document(_ partition: Partition, _ key: DocumentKey) throws -> Document? {
        _ = try opened(partition)
        return try store.shownDocument(partition, key)
    }

    func observe(_ partition: Partition, _ collection: String, _ filter: Filter) throws -> AsyncStream<[Document]> {
        _ = try opened(partition)
        // One element is enough: a snapshot makes the one before it obsolete.
        let (stream, continuation) = AsyncStream.makeStream(of: [Document].self, bufferingPolicy: .bufferingNewest(1))
        let number = nextObservation
        nextObservation += 1
        var observation = Observation(
            partition: partition, collection: collection, filter: filter, continuation: continuation)
        observation.matching = try matching(observation)
        continuation.onTermination = { [weak self] _ in
            // As above.
            Task { await self?.forgetObservation(number) }
        }
        observations[number] = observation
        continuation.yield(observation.documents)
        return stream
    }

    private func forgetObservation(_ number: Int) { observations[number] = nil }

    private func matching(_ observation: Observation) throws -> [DocumentKey: Document] {
        let rows = try store.shownDocuments(
            observation.partition, collection: observation.collection, where: observation.filter)
        return Dictionary(rows.map { ($0.key, $0.document) }, uniquingKeysWith: { $1 })
    }

    /// Updates the results of the observed queries.
    func refresh(_ partition: Partition, _ changes: ShownChanges) {
        for (number, observation) in observations where observation.partition == partition {
            do {
                try refresh(number, observation, observation.isStale ? .all : changes)
            } catch {
                observations[number]?.isStale = true
                events.send(.error(code: "store", message: "\(error)"))
            }
        }
    }

    private func refresh(_ number: Int, _ observation: Observation, _ changes: ShownChanges) throws {
        var updated = observation
        switch changes {
        case .all: updated.matching = try matching(observation)
        case .some(let keys):
            let own = keys.filter { $0.collection.hasSameBytes(as: observation.collection) }
            if own.isEmpty { return }
            for key in own {
                let document = try store.shownDocument(observation.partition, key)
                updated.matching[key] = document.flatMap {
                    observation.filter.matches($0, now: Self.milliseconds) ? $0 : nil
                }
            }
        }
        updated.isStale = false
        observations[number] = updated
        updated.continuation.yield(updated.documents)
    }

    // MARK: Writing

    /// Commits what the app wrote, as one changeset.
    ///
    /// - Parameter rejected: the changeset of the list of rejected ones whose place it takes.
    /// - Returns: The changeset's version; `nil` when there was nothing to do.
    func write(
        _ partition: Partition, _ operations: [Operation], retrying rejected: RejectedChangeset? = nil
    ) throws -> Int64? {
        let open = try opened(partition)
        let reading = clock.tick(milliseconds: Self.milliseconds)
        var batch = WriteBatch(bookkeeping: open.bookkeeping, clock: reading)
        for operation in operations {
            guard let key = operation.key else {
                throw PartitaError(
                    code: .badWrite, message: "an _id can't be an array, a regular expression or undefined")
            }
            try batch.add(
                operation, key, server: try store.serverDocument(partition, key),
                shown: try store.shownDocument(partition, key))
        }
        if batch.operations.isEmpty {
            if let rejected { try store.discardRejected(rejected.id) }
            return nil
        }
        let version = open.bookkeeping.nextVersion
        var after = open.bookkeeping
        let effects = after.write(batch.operations, clock: reading, id: ObjectId().hexString)
        if let changeset = after.pending.last?.changeset { try ChangesetText.check(changeset, partition) }
        let (store, before, saved) = (store, open.bookkeeping, after)
        let changes = try store.transaction { _ in
            try store.set("clock", String(reading.bits))
            if let rejected { try store.discardRejected(rejected.id) }
            return try store.commit(partition, from: before, to: saved, effects, now: Self.milliseconds)
        }
        partitions[partition]?.bookkeeping = after
        publishState(of: partition)
        refresh(partition, changes)
        flush()
        return version
    }

    // MARK: Rejected changesets

    func rejected(_ partition: Partition) throws -> [RejectedChangeset] {
        try requireStore()
        return try store.rejected(partition)
    }

    func discard(_ rejected: RejectedChangeset) throws {
        try requireStore()
        try store.discardRejected(rejected.id)
    }

    /// Writes the operations of a rejected changeset again, as a new one.
    /// - Returns: The new version; `nil` if it isn't in the list any more.
    func retry(_ rejected: RejectedChangeset) throws -> Int64? {
        guard try self.rejected(rejected.partition).contains(where: { $0.id == rejected.id }) else { return nil }
        return try write(rejected.partition, rejected.changeset.operations, retrying: rejected)
    }
}

import DocumentModel

extension DevicePartition {
    /// The gateway has answered `subscribe`.
    ///
    /// Acknowledged changesets after `lastVersion` are uploaded again: the server was restored from a backup that doesn't have
    /// them. A `lastVersion` that the device never assigned means that the device itself was restored or cloned.
    ///
    /// - Parameters:
    ///   - lastVersion: The last version of this device that the server has.
    ///   - retained: The changesets kept by `Effect.retain`, those after `lastVersion`, in order.
    public mutating func subscribed(access: Access, lastVersion: Int64, retained: [Changeset]) -> [Effect] {
        self.access = access
        isSubscribed = true
        serverVersion = lastVersion
        guard lastVersion < nextVersion else {
            isForked = true
            return []
        }
        containedVersion = min(containedVersion, lastVersion)
        stagedVersion = min(stagedVersion, lastVersion)
        // The visible state still contains them, until the catch-up that replaces it is complete.
        var offered = retained.map { PendingChangeset(changeset: $0, isContained: true) }
        var isOffering = !offered.isEmpty
        for var pending in pending {
            if pending.isReofferable && !pending.isUnresolved && pending.changeset.version > lastVersion {
                pending.state = .waiting
                isOffering = true
            }
            offered.append(pending)
        }
        if isOffering {
            pending = PendingQueue(offered.sorted { $0.changeset.version < $1.changeset.version })
            followOwnInserts(after: lastVersion)
        }
        renumber(after: lastVersion)
        return isOffering ? [.forgetRetained(after: lastVersion), .rebase(overlaidKeys)] : []
    }

    /// The user's access has changed while the partition is open.
    public mutating func accessChanged(to access: Access) {
        if isSubscribed { self.access = access }
    }

    /// The server accepts only versions without a gap, so the changesets that it doesn't have are numbered from its last version
    /// on. A gap arises when the server lost a rejection or a changeset that the device no longer keeps, and when a revocation
    /// removed changesets that were never sent.
    private mutating func renumber(after version: Int64) {
        nextVersion = version + 1
        for index in pending.indices where pending[index].changeset.version > version {
            // What already has its number isn't copied.
            if pending[index].changeset.version != nextVersion { pending[index].changeset.version = nextVersion }
            nextVersion += 1
        }
    }

    /// An insert that is uploaded again creates another incarnation; the later writes of the document refer to that one.
    private mutating func followOwnInserts(after version: Int64) {
        var inserted: Set<DocumentKey> = []
        for index in pending.indices where pending[index].changeset.version > version {
            for place in pending[index].changeset.operations.indices {
                let operation = pending[index].changeset.operations[place]
                guard let key = operation.key else { continue }
                if case .insert = operation.kind { inserted.insert(key) }
                if inserted.contains(key) { pending[index].changeset.operations[place].incarnation = nil }
            }
        }
    }

    /// The connection is gone: what was sent and not answered will be sent again.
    public mutating func disconnected() {
        isSubscribed = false
        serverVersion = 0
        isForked = false
        isClosed = false
        pending.revise(
            in: { $0.waitingCount < $0.unresolvedCount }, where: { $0.isUnresolved && $0.state != .waiting }
        ) {
            $0.state = .waiting
            return true
        }
    }

    /// The user may no longer read the partition: its data is removed. Writes that the server doesn't have are rejected.
    public mutating func revoke(_ rejection: OperationRejection) -> [Effect] {
        let refused = pending.filter(\.isUnresolved).map { Effect.reject($0.changeset, rejection) }
        // The server may already have some of them: it reports that when the partition is opened again.
        self = DevicePartition(nextVersion: nextVersion)
        return refused + [.wipe]
    }
}

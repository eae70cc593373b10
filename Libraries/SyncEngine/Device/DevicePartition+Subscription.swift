import DocumentModel

extension DevicePartition {
    /// The gateway has answered `subscribe`.
    ///
    /// Acknowledged changesets behind `lastVersion` are offered again: the server was restored from a backup that doesn't
    /// have them.
    ///
    /// - Parameters:
    ///   - lastVersion: The last version of this device that the server has.
    ///   - retained: The changesets kept by `Effect.retain`, those after `lastVersion`, in order.
    /// - Throws: `forked`.
    public mutating func subscribed(
        access: Access, lastVersion: Int64, retained: [Changeset]
    ) throws(Fault) -> [Effect] {
        if lastVersion >= nextVersion { throw .forked }
        self.access = access
        isSubscribed = true
        containedVersion = min(containedVersion, lastVersion)
        // The state that is shown still contains them, until the catch-up that replaces it is complete.
        var offered = retained.map { PendingChangeset(changeset: $0, isContained: true) }
        var isOffering = !offered.isEmpty
        for var pending in pending {
            if pending.isReofferable && !pending.isUnresolved && pending.changeset.version > lastVersion {
                pending.state = .waiting
                isOffering = true
            }
            offered.append(pending)
        }
        guard isOffering else { return [] }
        offered.sort { $0.changeset.version < $1.changeset.version }
        pending = offered
        followOwnInserts(after: lastVersion)
        return [.forgetRetained(after: lastVersion), .rebase(overlaidKeys)]
    }

    /// An insert that is offered again makes another incarnation; what was written to the document since is about that one.
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
        for index in pending.indices where pending[index].state == .sent { pending[index].state = .waiting }
    }

    /// The device took a new id, under which its versions begin anew.
    ///
    /// What was acknowledged stays acknowledged, and can't be offered again under the new id.
    public mutating func fork() -> [Effect] {
        isSubscribed = false
        containedVersion = 0
        stagedVersion = 0
        nextVersion = 1
        for index in pending.indices {
            pending[index].changeset.version = nextVersion
            nextVersion += 1
            if pending[index].isUnresolved {
                pending[index].state = .waiting
                pending[index].isContained = false
            } else {
                pending[index].isReofferable = false
            }
        }
        return [.forgetRetained(after: 0), .rebase(overlaidKeys)]
    }

    /// The user may no longer read the partition: its data goes. Writes that the server doesn't have are rejected.
    public mutating func revoke(_ rejection: OperationRejection) -> [Effect] {
        let refused = pending.filter(\.isUnresolved).map { Effect.reject($0.changeset, rejection) }
        self = DevicePartition(nextVersion: nextVersion)
        return refused + [.wipe]
    }
}

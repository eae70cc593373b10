import DocumentModel

extension DevicePartition {
    /// Takes changes from the gateway.
    ///
    /// - Parameters:
    ///   - device: This device's id, by which it knows its own changesets.
    ///   - now: Milliseconds since 1970.
    /// - Throws: `gap`; nothing has changed then.
    public mutating func receive(_ download: Download, device: String, now: Int64) throws(Fault) -> [Effect] {
        if let catchUp = download.catchUp {
            return try receive(chunk: download, catchUp, now: now)
        }
        if isStaging || download.from > checkpoint { throw .gap }
        if download.to <= checkpoint { return [] }
        let changes = download.changes.filter { $0.revision > checkpoint }
        checkpoint = download.to
        received = download.to
        for change in changes {
            guard let origin = change.origin, origin.device == device else { continue }
            containedVersion = max(containedVersion, origin.version)
        }
        let settled = settle(now: now)
        return [.apply(changes), .rebase(settled.union(changes.compactMap(\.key)))]
    }

    private mutating func receive(chunk: Download, _ catchUp: Download.CatchUp, now: Int64) throws(Fault) -> [Effect] {
        var effects: [Effect] = []
        if chunk.from.number == 0 {
            // From the beginning: whatever was staged belongs to a catch-up that was given up.
            effects.append(.clearStaged)
            isReplacing = true
            stagedVersion = 0
        } else if chunk.from != received {
            throw .gap
        }
        isStaging = true
        received = chunk.to
        stagedVersion = max(stagedVersion, catchUp.lastVersion)
        if !chunk.changes.isEmpty { effects.append(.stage(chunk.changes)) }
        guard catchUp.isFinal else { return effects }

        let overlaid = overlaidKeys
        checkpoint = chunk.to
        containedVersion = isReplacing ? stagedVersion : max(containedVersion, stagedVersion)
        if isReplacing {
            // What the former state contained is gone with it.
            for index in pending.indices { pending[index].isContained = false }
        }
        effects.append(.publishStaged(replacing: isReplacing))
        isStaging = false
        isReplacing = false
        stagedVersion = 0
        _ = settle(now: now)
        return effects + [.rebase(overlaid.union(overlaidKeys))]
    }

    /// Drops from the view what the state that is shown contains.
    ///
    /// - Returns: The documents of the changesets that were dropped.
    mutating func settle(now: Int64) -> Set<DocumentKey> {
        var keys: Set<DocumentKey> = []
        var kept: [PendingChangeset] = []
        for var pending in pending {
            var isCommitted = pending.changeset.version <= containedVersion
            if case .acknowledged(let revision) = pending.state { isCommitted = isCommitted || revision <= checkpoint }
            if isCommitted && !pending.isContained { keys.formUnion(pending.keys) }
            pending.isContained = pending.isContained || isCommitted
            if isCommitted && !pending.isUnresolved {
                if pending.isReofferable {
                    retained.append(RetainedChangeset(changeset: pending.changeset, acknowledgedAt: now))
                }
            } else {
                kept.append(pending)
            }
        }
        pending = kept
        return keys
    }
}

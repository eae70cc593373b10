import DocumentModel

extension DevicePartition {
    /// Processes changes from the gateway.
    ///
    /// - Parameter device: This device's id, by which it recognizes its own changesets.
    /// - Throws: `gap`; the bookkeeping is unchanged then.
    public mutating func receive(_ download: Download, device: String) throws(Fault) -> [Effect] {
        if let catchUp = download.catchUp {
            return try receive(chunk: download, catchUp)
        }
        if isStaging || download.from > checkpoint { throw .gap }
        if download.to <= checkpoint { return [] }
        let changes = download.changes.filter { $0.revision > checkpoint }
        checkpoint = download.to
        received = download.to
        for change in changes {
            guard let origin = change.origin, origin.device.hasSameBytes(as: device) else { continue }
            containedVersion = max(containedVersion, origin.version)
        }
        let settled = settle()
        return [.apply(changes), .rebase(settled.keys.union(changes.compactMap(\.key)))] + settled.effects
    }

    private mutating func receive(chunk: Download, _ catchUp: Download.CatchUp) throws(Fault) -> [Effect] {
        var effects: [Effect] = []
        if chunk.from.number == 0 || (chunk.from == checkpoint && chunk.from != received) {
            // A catch-up from the beginning, or from what is shown: what was staged belongs to one that was abandoned.
            effects.append(.clearStaged)
            isReplacing = chunk.from.number == 0
            stagedVersion = 0
        } else if chunk.from != received {
            throw .gap
        }
        isStaging = true
        received = chunk.to
        resumeToken = catchUp.resume
        stagedVersion = max(stagedVersion, catchUp.lastVersion)
        if !chunk.changes.isEmpty { effects.append(.stage(chunk.changes)) }
        guard catchUp.isFinal else { return effects }

        let overlaid = overlaidKeys
        checkpoint = chunk.to
        containedVersion = isReplacing ? stagedVersion : max(containedVersion, stagedVersion)
        if isReplacing {
            // The new state needn't contain what the replaced one did.
            pending.revise(where: \.isContained) {
                $0.isContained = false
                return true
            }
        }
        effects.append(.publishStaged(replacing: isReplacing))
        isStaging = false
        isReplacing = false
        resumeToken = nil
        stagedVersion = 0
        let settled = settle()
        return effects + [.rebase(overlaid.union(overlaidKeys))] + settled.effects
    }

    /// Stops applying the pending changesets that the visible state contains.
    ///
    /// - Returns: The documents of the changesets that are no longer applied, and the effects that retain the removed
    ///   changesets.
    mutating func settle() -> (keys: Set<DocumentKey>, effects: [Effect]) {
        var effects: [Effect] = []
        var keys: Set<DocumentKey> = []
        let (containedVersion, checkpoint) = (containedVersion, checkpoint)
        /// Whether the visible state contains a changeset.
        func isCommitted(_ pending: PendingChangeset) -> Bool {
            // Versions under a former device id can't be compared with those under the current one.
            if pending.isReofferable, pending.changeset.version <= containedVersion { return true }
            guard case .acknowledged(let revision) = pending.state else { return false }
            return revision <= checkpoint
        }
        pending.revise(
            in: { $0.starts(by: containedVersion) || $0.acknowledgedCount > 0 }, where: isCommitted
        ) { pending in
            if !pending.isContained { keys.formUnion(pending.keys) }
            pending.isContained = true
            if pending.isUnresolved { return true }
            if pending.isReofferable { effects.append(.retain(pending.changeset)) }
            return false
        }
        return (keys, effects)
    }
}

import DocumentModel

extension DevicePartition {
    /// Makes a changeset of what the app wrote in one transaction.
    ///
    /// - Parameter clock: A new reading of the device's clock.
    public mutating func write(_ operations: [Operation], clock: HybridTime) -> [Effect] {
        let changeset = Changeset(
            version: nextVersion, clock: clock, operations: operations.map { $0.withCurrentDate(clock) })
        nextVersion += 1
        pending.append(PendingChangeset(changeset: changeset))
        return [.rebase(Set(operations.compactMap(\.key)))]
    }

    /// Names what the device has seen of the operation's document.
    ///
    /// - Parameters:
    ///   - server: The server's document as it is shown; `nil` when there is none.
    ///   - earlier: Operations of the same transaction, made before.
    public func stamped(_ operation: Operation, server: ServerDocument?, after earlier: [Operation] = []) -> Operation {
        var stamped = operation
        stamped.base = server?.revision
        stamped.incarnation = server?.incarnation
        guard let key = operation.key else { return stamped }
        let own = overlay(key) + earlier.filter { $0.key == key }
        // What follows an own insert or delete is about the document that the own insert makes.
        let isOwn = own.contains { if case .update = $0.kind { false } else { true } }
        if isOwn { stamped.incarnation = nil }
        return stamped
    }

    /// How many changesets were sent on the present connection and not answered.
    public var sentCount: Int { pending.count { $0.state == .sent } }

    /// The changesets to upload now, which count as sent.
    ///
    /// - Parameter window: How many may be unanswered at once.
    public mutating func takeUploads(window: Int) -> [Changeset] {
        guard isSubscribed else { return [] }
        var free = window - sentCount
        var taken: [Changeset] = []
        for index in pending.indices where pending[index].state == .waiting {
            if free <= 0 { break }
            free -= 1
            pending[index].state = .sent
            taken.append(pending[index].changeset)
        }
        return taken
    }

    /// The server has committed a changeset.
    public mutating func acknowledge(version: Int64, revision: Revision, lost: [LostWrite]) -> [Effect] {
        guard let index = unresolvedIndex(of: version) else { return [] }
        pending[index].state = .acknowledged(revision)
        let settled = settle()
        var effects: [Effect] = lost.isEmpty ? [] : [.report(version: version, lost: lost)]
        if !settled.keys.isEmpty { effects.append(.rebase(settled.keys)) }
        return effects + settled.effects
    }

    /// The server has refused a changeset. Those behind it go on.
    public mutating func reject(version: Int64, _ rejection: OperationRejection) -> [Effect] {
        guard let index = unresolvedIndex(of: version) else { return [] }
        let rejected = pending.remove(at: index)
        return [.reject(rejected.changeset, rejection), .rebase(rejected.keys)]
    }

    private func unresolvedIndex(of version: Int64) -> Int? {
        pending.firstIndex { $0.changeset.version == version && $0.isUnresolved }
    }
}

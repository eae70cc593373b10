import DocumentModel

extension DevicePartition {
    /// Creates a changeset from what the app wrote in one transaction.
    ///
    /// - Parameters:
    ///   - clock: A new reading of the device's clock.
    ///   - id: What no other changeset has.
    public mutating func write(_ operations: [Operation], clock: HybridTime, id: String? = nil) -> [Effect] {
        let changeset = Changeset(
            version: nextVersion, clock: clock, id: id, operations: operations.map { $0.withCurrentDate(clock) })
        nextVersion += 1
        pending.append(PendingChangeset(changeset: changeset))
        return [.rebase(Set(operations.compactMap(\.key)))]
    }

    /// Returns the operation with the revision and incarnation of its document that the device has seen.
    ///
    /// - Parameters:
    ///   - server: The server's document in the visible state; `nil` when there is none.
    ///   - earlier: The earlier operations of the same transaction.
    public func stamped(_ operation: Operation, server: ServerDocument?, after earlier: [Operation] = []) -> Operation {
        var stamped = operation
        stamped.base = server?.revision
        stamped.incarnation = server?.incarnation
        guard let key = operation.key else { return stamped }
        let own = overlay(key).map(\.operation) + earlier.filter { $0.key == key }
        // After the device's own insert or delete, an operation refers to the document that its own insert creates.
        let isOwn = own.contains { if case .update = $0.kind { false } else { true } }
        if isOwn { stamped.incarnation = nil }
        return stamped
    }

    /// How many changesets were sent on the current connection and not answered.
    public var sentCount: Int { pending.sentCount }

    /// How many changesets of a partition may be unanswered at once. For this many of the latest versions, the server can tell
    /// whether a changeset is the one that it has.
    public static let uploadWindow = 16

    /// Returns the changesets to upload now and marks them as sent.
    ///
    /// A suspect is sent alone: if it crashes the gateway, other changesets in flight would become suspects, too.
    ///
    /// - Parameters:
    ///   - window: How many may be unanswered at once, if fewer than `uploadWindow`.
    ///   - isForking: Whether the device is about to take a new id, because of this partition or another one.
    public mutating func takeUploads(window: Int, isForking: Bool = false) -> [Changeset] {
        var free = min(window, Self.uploadWindow) - sentCount
        var taken: [Changeset] = []
        while free > 0, let index = nextIndex(isForking: isForking) {
            if pending[index].isSuspect && sentCount > 0 { break }
            free -= 1
            pending[index].state = .sent
            taken.append(pending[index].changeset)
        }
        return taken
    }

    /// The changeset that is to be uploaded next, if one may be.
    public func nextUpload(isForking: Bool) -> PendingChangeset? { nextIndex(isForking: isForking).map { pending[$0] } }

    /// What the server may already have is sent first and without new changesets: nothing new is committed before it is certain
    /// that the versions are this device's.
    private func nextIndex(isForking: Bool) -> PendingQueue.Index? {
        guard isSubscribed, !hasSentSuspect,
            let index = pending.firstIndex(in: { $0.waitingCount > 0 }, where: { $0.state == .waiting })
        else { return nil }
        let known = pending.firstIndex(
            in: { $0.unresolvedCount > 0 && $0.starts(by: serverVersion) },
            where: { $0.isUnresolved && $0.changeset.version <= serverVersion })
        let isAsking = isForked || isForking || known != nil
        return isAsking && !isClosed && pending[index].changeset.version > serverVersion ? nil : index
    }

    /// The server has committed a changeset.
    public mutating func acknowledge(version: Int64, revision: Revision, lost: [LostWrite]) -> [Effect] {
        guard let index = unresolvedIndex(of: version) else { return [] }
        hasMetGap = false
        pending[index].state = .acknowledged(revision)
        let settled = settle()
        var effects: [Effect] = lost.isEmpty ? [] : [.report(version: version, lost: lost)]
        if !settled.keys.isEmpty { effects.append(.rebase(settled.keys)) }
        return effects + settled.effects
    }

    /// The server has rejected a changeset. Later ones aren't affected.
    public mutating func reject(version: Int64, _ rejection: OperationRejection) -> [Effect] {
        guard let index = unresolvedIndex(of: version) else { return [] }
        hasMetGap = false
        let rejected = pending.remove(at: index)
        return [.reject(rejected.changeset, rejection), .rebase(rejected.keys)]
    }

    /// Rejects a changeset that the device itself can't send. No later one was sent either, so their versions move down by one.
    public mutating func refuse(version: Int64, _ rejection: OperationRejection) -> [Effect] {
        let effects = reject(version: version, rejection)
        guard !effects.isEmpty, version > serverVersion else { return effects }
        pending.revise(where: { $0.changeset.version > version }) {
            $0.changeset.version -= 1
            return true
        }
        nextVersion -= 1
        return effects
    }

    /// The number of lost connections after which a changeset is given up: with the back-off between them, a few minutes.
    public static let lossLimit = 10

    /// Whether there is a changeset that may crash the gateway.
    public var hasSuspect: Bool { pending.parts.contains { $0.suspectCount > 0 } }

    /// Whether such a changeset is in flight.
    public var hasSentSuspect: Bool {
        pending.firstIndex(
            in: { $0.suspectCount > 0 && $0.sentCount > 0 }, where: { $0.isSuspect && $0.state == .sent }) != nil
    }

    /// The connection ended without an `error` frame, and that is held against what was in flight (``SuspectTrial``): an unanswered
    /// changeset may have crashed the gateway.
    public mutating func connectionLost() {
        pending.revise(in: { $0.sentCount > 0 }, where: { $0.state == .sent }) {
            $0.lossCount += 1
            return true
        }
    }

    /// Gives up the changeset over which `lossLimit` connections were lost, if the server has reported that it doesn't have it.
    public mutating func refuseUndeliverable() -> [Effect] {
        guard isSubscribed,
            let lost = pending.first(where: { $0.isUnresolved && $0.lossCount >= Self.lossLimit }),
            lost.changeset.version > serverVersion
        else { return [] }
        let reason = "\(Self.lossLimit) connections ended between its upload and its answer"
        return refuse(version: lost.changeset.version, OperationRejection(code: .undeliverable, reason: reason))
    }

    func unresolvedIndex(of version: Int64) -> PendingQueue.Index? {
        pending.firstIndex(
            in: { $0.spans(version) }, where: { $0.changeset.version == version && $0.isUnresolved })
    }
}

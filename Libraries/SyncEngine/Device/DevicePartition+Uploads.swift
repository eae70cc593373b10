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
        let own = overlay(key).map(\.operation) + earlier.filter { $0.key == key }
        // What follows an own insert or delete is about the document that the own insert makes.
        let isOwn = own.contains { if case .update = $0.kind { false } else { true } }
        if isOwn { stamped.incarnation = nil }
        return stamped
    }

    /// How many changesets were sent on the present connection and not answered.
    public var sentCount: Int { pending.count { $0.state == .sent } }

    /// How many changesets of a partition may be unanswered at once: the server can tell so many of the last ones from others
    /// under the same versions.
    public static let uploadWindow = 16

    /// The changesets to upload now, which count as sent.
    ///
    /// A suspect is alone: what else is under way when the gateway dies of it would become one too.
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

    /// What the server may have already goes first and alone: nothing new is committed before it is certain that the versions
    /// are this device's.
    private func nextIndex(isForking: Bool) -> Int? {
        guard isSubscribed, !hasSentSuspect, let index = pending.firstIndex(where: { $0.state == .waiting })
        else { return nil }
        let isAsking =
            isForked || isForking
            || pending.contains { $0.isUnresolved && $0.changeset.version <= serverVersion }
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

    /// The server has refused a changeset. Those behind it go on.
    public mutating func reject(version: Int64, _ rejection: OperationRejection) -> [Effect] {
        guard let index = unresolvedIndex(of: version) else { return [] }
        hasMetGap = false
        let rejected = pending.remove(at: index)
        return [.reject(rejected.changeset, rejection), .rebase(rejected.keys)]
    }

    /// Refuses a changeset that the device itself can't send. Nothing behind it was sent either: it moves up.
    public mutating func refuse(version: Int64, _ rejection: OperationRejection) -> [Effect] {
        let effects = reject(version: version, rejection)
        guard !effects.isEmpty, version > serverVersion else { return effects }
        for index in pending.indices where pending[index].changeset.version > version {
            pending[index].changeset.version -= 1
        }
        nextVersion -= 1
        return effects
    }

    /// After how many lost connections a changeset is given up: with the back-off between them, some minutes.
    public static let lossLimit = 10

    /// Whether a changeset may be what ends the gateway.
    public var hasSuspect: Bool { pending.contains(where: \.isSuspect) }

    /// Whether such a changeset is under way.
    public var hasSentSuspect: Bool { pending.contains { $0.isSuspect && $0.state == .sent } }

    /// The other side has closed the connection without a word: it may have died of what was uploaded and not answered.
    public mutating func connectionLost() {
        for index in pending.indices where pending[index].state == .sent { pending[index].lossCount += 1 }
    }

    /// Gives up the changeset over which `lossLimit` connections were lost, if the server has said that it isn't there.
    public mutating func refuseUndeliverable() -> [Effect] {
        guard isSubscribed,
            let lost = pending.first(where: { $0.isUnresolved && $0.lossCount >= Self.lossLimit }),
            lost.changeset.version > serverVersion
        else { return [] }
        let reason = "\(Self.lossLimit) connections ended between its upload and its answer"
        return refuse(version: lost.changeset.version, OperationRejection(code: .undeliverable, reason: reason))
    }

    func unresolvedIndex(of version: Int64) -> Int? {
        pending.firstIndex { $0.changeset.version == version && $0.isUnresolved }
    }
}

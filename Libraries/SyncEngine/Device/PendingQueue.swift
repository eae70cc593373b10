import DocumentModel

/// A device's own changesets, in the order of their versions: many thousands, perhaps, after days without a connection.
///
/// They stand in parts. A copy shares the parts that neither side changes, so that a step of the bookkeeping, and what has to be saved
/// of it, cost what the step changes, not what waits.
public struct PendingQueue: Sendable {
    private(set) var parts: [PendingPart] = []

    /// - Parameter changesets: In the order of their versions.
    public init(_ changesets: some Sequence<PendingChangeset>) {
        for changeset in changesets { append(changeset) }
    }

    /// How many were sent on the current connection and not answered.
    var sentCount: Int { parts.reduce(0) { $0 + $1.sentCount } }

    /// How many the server hasn't answered.
    public var unresolvedCount: Int { parts.reduce(0) { $0 + $1.unresolvedCount } }

    /// Appends a changeset with a later version than those that are there.
    mutating func append(_ changeset: PendingChangeset) {
        if parts.isEmpty || parts[parts.count - 1].changesets.count >= PendingPart.limit { parts.append(PendingPart()) }
        parts[parts.count - 1].append(changeset)
    }

    mutating func remove(at index: Index) -> PendingChangeset {
        let removed = parts[index.part].remove(at: index.place)
        if parts[index.part].isEmpty { parts.remove(at: index.part) }
        return removed
    }

    /// The first changeset that meets a condition.
    /// - Parameter mayContain: Whether a part may have one.
    func firstIndex(
        in mayContain: (PendingPart) -> Bool, where condition: (PendingChangeset) -> Bool
    ) -> Index? {
        for part in parts.indices where mayContain(parts[part]) {
            if let place = parts[part].changesets.firstIndex(where: condition) {
                return Index(part: part, place: place)
            }
        }
        return nil
    }

    /// Changes or removes the changesets that meet a condition.
    /// - Parameters:
    ///   - mayContain: Whether a part may have one.
    ///   - change: Returns whether the changeset stays. The order of the versions must stay as it is.
    mutating func revise(
        in mayContain: (PendingPart) -> Bool = { _ in true }, where condition: (PendingChangeset) -> Bool,
        _ change: (inout PendingChangeset) -> Bool
    ) {
        for part in parts.indices where mayContain(parts[part]) {
            var place = 0
            while let next = parts[part].changesets[place...].firstIndex(where: condition) {
                var changeset = parts[part].changesets[next]
                if change(&changeset) {
                    parts[part].replace(at: next, with: changeset)
                    place = next + 1
                } else {
                    _ = parts[part].remove(at: next)
                    place = next
                }
            }
        }
        if parts.contains(where: \.isEmpty) { parts.removeAll(where: \.isEmpty) }
    }

    /// The operations on a document of the changesets that meet a condition, in order.
    func operations(
        on key: DocumentKey, where condition: (PendingChangeset) -> Bool
    ) -> [(operation: Operation, clock: HybridTime)] {
        var operations: [(operation: Operation, clock: HybridTime)] = []
        let bit = PendingChangeset.bit(of: key)
        for part in parts where part.mayWrite(key) {
            for changeset in part.changesets where changeset.mayWrite(bit) && condition(changeset) {
                for operation in changeset.operations(on: key) {
                    operations.append((operation, changeset.changeset.clock))
                }
            }
        }
        return operations
    }

    /// What has to be saved where another queue is stored, from which this one was made.
    ///
    /// - Parameter isSame: Whether two changesets of one version are stored alike.
    /// - Returns: The versions that left, and the changesets that came or changed.
    public func changes(
        since before: PendingQueue, where isSame: (PendingChangeset, PendingChangeset) -> Bool
    ) -> (removed: [Int64], saved: [PendingChangeset]) {
        var removed: [Int64] = []
        var saved: [PendingChangeset] = []
        var old = before.startIndex
        func removeEarlier(than version: Int64) {
            while old < before.endIndex, before[old].changeset.version < version {
                removed.append(before[old].changeset.version)
                old = before.index(after: old)
            }
        }
        for part in parts {
            removeEarlier(than: part.changesets[0].changeset.version)
            if old.place == 0, old < before.endIndex, part.isShared(with: before.parts[old.part]) {
                old.part += 1
                continue
            }
            for changeset in part.changesets {
                let version = changeset.changeset.version
                removeEarlier(than: version)
                if old < before.endIndex, before[old].changeset.version == version {
                    if !isSame(before[old], changeset) { saved.append(changeset) }
                    old = before.index(after: old)
                } else {
                    saved.append(changeset)
                }
            }
        }
        removeEarlier(than: .max)
        return (removed, saved)
    }
}

extension PendingQueue: BidirectionalCollection, MutableCollection {
    /// Where a changeset stands.
    public struct Index: Comparable, Sendable {
        var part: Int
        var place: Int

        public static func < (left: Index, right: Index) -> Bool { (left.part, left.place) < (right.part, right.place) }
    }

    public var startIndex: Index { Index(part: 0, place: 0) }
    public var endIndex: Index { Index(part: parts.count, place: 0) }
    public var count: Int { parts.reduce(0) { $0 + $1.changesets.count } }

    public func index(after index: Index) -> Index {
        index.place + 1 < parts[index.part].changesets.count
            ? Index(part: index.part, place: index.place + 1) : Index(part: index.part + 1, place: 0)
    }

    public func index(before index: Index) -> Index {
        index.place > 0
            ? Index(part: index.part, place: index.place - 1)
            : Index(part: index.part - 1, place: parts[index.part - 1].changesets.count - 1)
    }

    public subscript(index: Index) -> PendingChangeset {
        get { parts[index.part].changesets[index.place] }
        set { parts[index.part].replace(at: index.place, with: newValue) }
    }
}

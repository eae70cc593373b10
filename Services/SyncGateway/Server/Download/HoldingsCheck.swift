import DocumentModel
import DocumentStore
import EventLoop
import SyncEngine

/// Compares what devices hold of a partition with what the store has. A device that lacks documents, or has old ones, because of a
/// fault on whichever side, is served the whole partition again.
///
/// The comparison is an addition to the service, which never waits long for it: one partition is read at a time, each at most for a
/// hundredth of the time, and what was read answers all devices that show the same revision. Whoever can't be answered that way is
/// served without.
final class HoldingsCheck: Sendable {
    private struct Known {
        var head: Revision
        /// `nil` for a partition with too many documents.
        var holdings: Holdings?
        /// When a newer head may be read.
        var isOldAt: ContinuousClock.Instant

        func answer(_ other: Holdings, at checkpoint: Revision) -> Holdings.Comparison? {
            guard let holdings, head == checkpoint else { return nil }
            return holdings == other ? .same : .different
        }
    }

    /// The most documents of a partition that are compared, which takes about half a second.
    static let documents = 200_000
    /// How long what was read of a partition is used, before a newer head is read: this many times what the reading took, up to a
    /// minute.
    private static let pause = (factor: 100, limit: Duration.seconds(60))
    private static let patience = Duration.seconds(2)
    private static let costlyDebt = Duration.seconds(2)

    private let store: DocumentStore
    private let turns = FairGate<ExactText>(places: 1, waiting: 64)
    private let known = Locked<[PartitionKey: Known]>([:])
    /// What each user's comparisons cost.
    private let costs = TimeBudget(share: 0.05, allowance: .zero)

    init(store: DocumentStore) { self.store = store }

    /// - Parameters:
    ///   - holdings: What a device says that it holds.
    ///   - checkpoint: The revision up to which it shows the partition.
    /// - Returns: `nil` when it isn't compared.
    /// - Throws: what reading the partition throws.
    func compare(
        _ holdings: Holdings, at checkpoint: Revision, of key: PartitionKey, user: String
    ) async throws -> Holdings.Comparison? {
        let found = try await compared(holdings, at: checkpoint, of: key, user: user)
        GatewayMetrics.holdings[found?.rawValue ?? "unknown"].increment()
        return found
    }

    private func compared(
        _ holdings: Holdings, at checkpoint: Revision, of key: PartitionKey, user: String
    ) async throws -> Holdings.Comparison? {
        if let known = fresh(key, at: checkpoint) { return known.answer(holdings, at: checkpoint) }
        let sender = Sender.number(app: key.app, user: user)
        guard costs.debt(of: sender) < Self.costlyDebt else { return nil }
        let owner = ExactText(key.app), member = ExactText(user)
        do {
            try await turns.enter(owner, member: member, within: Self.patience)
        } catch is FairGate<ExactText>.Refusal {
            return nil
        }
        defer { turns.leave(owner, member: member) }
        // Another device may have had it read meanwhile.
        if let known = fresh(key, at: checkpoint) { return known.answer(holdings, at: checkpoint) }
        let start = ContinuousClock.now
        let (head, present) = try await store.holdings(of: key, limit: Self.documents)
        let now = ContinuousClock.now
        let known = Known(
            head: head, holdings: present,
            isOldAt: now + min((now - start) * Self.pause.factor, Self.pause.limit))
        _ = costs.charge(now - start, of: sender)
        self.known.withLock { all in
            if all.count >= 10_000 { all = all.filter { $0.value.isOldAt > now } }
            all[key] = known
        }
        return known.answer(holdings, at: checkpoint)
    }

    /// What is known of a partition; `nil` when it should be read.
    private func fresh(_ key: PartitionKey, at checkpoint: Revision) -> Known? {
        known.withLock { $0[key] }.flatMap { known in
            known.head == checkpoint || known.isOldAt > .now ? known : nil
        }
    }
}

import ChangeStream
import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Logging
import SyncEngine

/// Receives every change of the pool. Changes of partitions that no device of this gateway has open are dropped by their key,
/// unparsed; the others are encoded once (``SharedDownload``) and passed to the event loops of the devices that do. Those that this
/// gateway has committed itself it has before the topic brings them.
///
/// It works on one event loop, so that frames of a partition are delivered in the order in which they are made.
final class ChangeFeed: Sendable {
    typealias Frame = LiveFrame<FeedPayload>

    private let listeners = Locked<[[UInt8]: Listeners]>([:])
    /// The loop on which ``handle(_:)`` is called.
    let loop: EventLoop
    private let logger: Logger
    /// Whether a collection of an app is synced.
    private let syncs: @Sendable (String, ChangeEvent.Namespace) -> Bool

    /// The size in bytes up to which an unfinished commit is held; the devices read a larger one from Postgres.
    private static let unfinishedBytes = 1 << 20

    private struct Listeners {
        let key: PartitionKey
        var shards: [FeedShard]
        var assembly = FeedAssembly<FeedChange>(limit: ChangeFeed.unfinishedBytes)
        /// The revision up to which frames were delivered.
        var delivered = EpochHistory.beginning

        /// Whether a message may make a frame. What this gateway has committed itself it has delivered already.
        func wants(_ event: RawEvent<DocumentChangesEvent>) -> Bool {
            guard event.isWholeChange, let revision = event.revision else { return true }
            return !assembly.hasTaken(revision)
        }

        mutating func make(
            _ take: (inout FeedAssembly<FeedChange>) -> [FeedAssembly<FeedChange>.Run]
        ) -> [FeedAssembly<FeedChange>.Run] { take(&assembly) }
    }

    init(on loop: EventLoop, logger: Logger, syncs: @escaping @Sendable (String, ChangeEvent.Namespace) -> Bool) {
        self.loop = loop
        self.logger = logger
        self.syncs = syncs
    }

    /// Starts to deliver the partition's frames to the shard; called for its first subscriber.
    func open(_ key: PartitionKey, for shard: FeedShard) {
        listeners.withLock { $0[key.messageKey, default: Listeners(key: key, shards: [])].shards.append(shard) }
    }

    /// Stops the delivery; called when the shard's last subscriber has left.
    func close(_ key: PartitionKey, for shard: FeedShard) {
        listeners.withLock { listeners in
            listeners[key.messageKey]?.shards.removeAll { $0 === shard }
            if listeners[key.messageKey]?.shards.isEmpty == true { listeners[key.messageKey] = nil }
        }
    }

    /// Handles a batch of messages, in order per partition. Must be called on the feed's loop.
    func handle(_ events: [RawEvent<DocumentChangesEvent>]) {
        var batches: [[UInt8]: [FeedAssembly<FeedChange>.Message]] = [:]
        for event in events {
            let bytes = event.keyBytes
            guard listeners.withLock({ $0[bytes]?.wants(event) ?? false }) else { continue }
            do {
                batches[bytes, default: []].append(
                    .init(try event.decoded().payload, size: event.message.value?.count ?? 0))
            } catch {
                // Subscriptions of the partition detect the gap at the next change, and read it from Postgres.
                logger.error("a change can't be read", metadata: ["error": "\(error)"])
            }
        }
        for (key, messages) in batches { take(messages, of: key) }
    }

    /// Delivers what this gateway has committed for devices, soon.
    func committed(_ plan: WritePlan, _ heads: [CommittedHead]) { loop.execute { self.take(plan, heads) } }

    private func take(_ plan: WritePlan, _ heads: [CommittedHead]) {
        let key = { PartitionKey(app: plan.storage.app, partition: $0) }
        let open = listeners.withLock { listeners in
            heads.filter { listeners[key($0.partition).messageKey] != nil }
        }
        for (head, from, changes) in plan.changes(of: open) {
            // With what surrounds a change in a frame, roughly.
            let size = changes.reduce(0) { $0 + ($1.body?.count ?? 0) + 100 }
            deliver(to: key(head.partition).messageKey) {
                $0.take(own: changes.map(FeedChange.committed), from: from, size: size)
            }
        }
    }

    /// The partitions that devices have open, with the revision up to which frames were delivered.
    var delivered: [PartitionKey: Revision] {
        listeners.withLock { listeners in
            Dictionary(uniqueKeysWithValues: listeners.values.map { ($0.key, $0.delivered) })
        }
    }

    /// Tells subscriptions that a partition has this revision, of which the topic has said nothing: they catch up.
    func announce(_ head: Revision, of key: PartitionKey) {
        loop.execute { self.take([.announcement(head)], of: key.messageKey) }
    }

    private func take(_ messages: [FeedAssembly<FeedChange>.Message], of bytes: [UInt8]) {
        GatewayMetrics.feedChanges.increment(by: messages.count)
        deliver(to: bytes) { $0.take(messages) }
    }

    private func deliver(
        to bytes: [UInt8], _ take: (inout FeedAssembly<FeedChange>) -> [FeedAssembly<FeedChange>.Run]
    ) {
        let taken = listeners.withLock { listeners -> (listening: Listeners, runs: [FeedAssembly<FeedChange>.Run])? in
            guard let runs = listeners[bytes]?.make(take), let last = runs.last?.to else { return nil }
            let before = listeners[bytes]?.delivered ?? last
            listeners[bytes]?.delivered = max(before, last)
            return listeners[bytes].map { ($0, runs) }
        }
        guard let (listening, runs) = taken else { return }
        let frames = runs.map { run in
            switch run {
            case .changes(let changes, let from, let to): encode(changes, from: from, to: to, in: listening.key)
            case .announcement(let revision):
                Frame(from: revision, to: revision, byteCount: 0, payload: .announcement)
            }
        }
        for shard in listening.shards { shard.deliver(frames, of: listening.key) }
    }

    /// A change in a collection that is no longer synced takes its revision, but isn't sent to devices, except that a document has left
    /// the partition: devices may have it.
    private func encode(
        _ changes: [FeedChange], from: Revision, to: Revision, in key: PartitionKey
    ) -> Frame {
        let changes = changes.filter { $0.isDeletion || syncs(key.app, $0.namespace) }.map(SharedDownload.Change.init)
        let download = SharedDownload(changes, from: from, to: to, in: key.partition)
        return Frame(from: from, to: to, byteCount: download.byteCount, payload: .changes(download))
    }
}

extension FeedAssembly.Message where Change == FeedChange {
    /// - Parameter size: The size of the message in bytes.
    fileprivate init(_ event: DocumentChangesEvent, size: Int) {
        self =
            if case .change(let change) = event {
                .change(.event(change), change.revision, size: size, continues: change.continues)
            } else {
                .announcement(event.revision)
            }
    }
}

import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Logging
import SyncEngine
import SyncProtocol
import WebSocket

/// Receives every change of the pool. Changes of partitions that no device of this gateway has open are dropped by their key,
/// unparsed; the others are encoded once and passed to the event loops of the devices that do.
final class ChangeFeed: Sendable {
    typealias Frame = LiveFrame<FeedPayload>

    private let listeners = Locked<[[UInt8]: Listeners]>([:])
    private let logger: Logger
    /// Whether a collection of an app is synced.
    private let syncs: @Sendable (String, ChangeEvent.Namespace) -> Bool

    /// The size in bytes from which a frame is compressed.
    private static let compressibleBytes = 1024

    /// The size in bytes up to which an unfinished commit is held; the devices read a larger one from Postgres.
    private static let unfinishedBytes = 1 << 20

    private struct Listeners {
        let key: PartitionKey
        var shards: [FeedShard]
        var assembly = FeedAssembly<ChangeEvent>(limit: ChangeFeed.unfinishedBytes)
        /// The revision up to which frames were delivered.
        var delivered = EpochHistory.beginning
    }

    init(logger: Logger, syncs: @escaping @Sendable (String, ChangeEvent.Namespace) -> Bool) {
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

    /// Handles a batch of messages, in order per partition.
    func handle(_ events: [RawEvent<DocumentChangesEvent>]) {
        var batches: [[UInt8]: [FeedAssembly<ChangeEvent>.Message]] = [:]
        for event in events {
            let bytes = event.keyBytes
            if batches[bytes] == nil {
                guard listeners.withLock({ $0[bytes] != nil }) else { continue }
                batches[bytes] = []
            }
            do {
                batches[bytes]?.append(.init(try event.decoded().payload, size: event.message.value?.count ?? 0))
            } catch {
                // Subscriptions of the partition detect the gap at the next change, and read it from Postgres.
                logger.error("a change can't be read", metadata: ["error": "\(error)"])
            }
        }
        for (key, messages) in batches { deliver(messages, of: key) }
    }

    /// The partitions that devices have open, with the revision up to which frames were delivered.
    var delivered: [PartitionKey: Revision] {
        listeners.withLock { listeners in
            Dictionary(uniqueKeysWithValues: listeners.values.map { ($0.key, $0.delivered) })
        }
    }

    /// Tells subscriptions that a partition has this revision, of which the topic has said nothing: they catch up.
    func announce(_ head: Revision, of key: PartitionKey) { deliver([.announcement(head)], of: key.messageKey) }

    private func deliver(_ messages: [FeedAssembly<ChangeEvent>.Message], of bytes: [UInt8]) {
        let taken = listeners.withLock { listeners -> (listening: Listeners, runs: [FeedAssembly<ChangeEvent>.Run])? in
            guard let runs = listeners[bytes]?.assembly.take(messages), let last = runs.last?.to else { return nil }
            let before = listeners[bytes]?.delivered ?? last
            listeners[bytes]?.delivered = max(before, last)
            return listeners[bytes].map { ($0, runs) }
        }
        guard let (listening, runs) = taken else { return }
        let frames = runs.map { run in
            switch run {
            case .changes(let changes, let from, let to): encode(changes, from: from, to: to, in: listening.key)
            case .announcement(let revision):
                Frame(from: revision, to: revision, byteCount: 0, payload: .frame(WebSocketFrame(text: "")))
            }
        }
        GatewayMetrics.feedChanges.increment(by: messages.count)
        for shard in listening.shards { shard.deliver(frames, of: listening.key) }
    }

    /// A change in a collection that is no longer synced takes its revision, but isn't sent to devices, except that a document has left
    /// the partition: devices may have it.
    private func encode(
        _ changes: [ChangeEvent], from: Revision, to: Revision, in key: PartitionKey
    ) -> Frame {
        var encoder = DownloadEncoder(partition: key.partition, from: from)
        var body: [UInt8] = []
        for change in changes where change.operationType == .delete || syncs(key.app, change.namespace) {
            let origin = change.origin.map { DocumentChange.Origin(device: $0.device, version: $0.version) }
            let id = change.documentKey.idText ?? ""
            if let document = change.fullDocument, change.operationType != .delete {
                body.removeAll(keepingCapacity: true)
                ExtendedJSON.append(document, to: &body)
                encoder.appendUpsert(
                    collection: change.namespace.collection, idText: id, revision: change.revision,
                    incarnation: change.incarnation, origin: origin, body: body)
            } else {
                encoder.appendDelete(
                    collection: change.namespace.collection, idText: id, revision: change.revision,
                    incarnation: change.incarnation, origin: origin)
            }
        }
        let bytes = encoder.finish(to: to)
        return Frame(
            from: from, to: to, byteCount: bytes.count,
            payload: .frame(WebSocketFrame(.text, bytes, isCompressible: bytes.count >= Self.compressibleBytes)))
    }
}

extension FeedAssembly.Message where Change == ChangeEvent {
    /// - Parameter size: The size of the message in bytes.
    fileprivate init(_ event: DocumentChangesEvent, size: Int) {
        self =
            if case .change(let change) = event {
                .change(change, change.revision, size: size, continues: change.continues)
            } else {
                .announcement(event.revision)
            }
    }
}

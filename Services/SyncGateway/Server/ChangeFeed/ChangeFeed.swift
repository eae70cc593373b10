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

    private struct Listeners {
        let key: FeedKey
        var shards: [FeedShard]
    }

    init(logger: Logger, syncs: @escaping @Sendable (String, ChangeEvent.Namespace) -> Bool) {
        self.logger = logger
        self.syncs = syncs
    }

    /// Starts to deliver the partition's frames to the shard; called for its first subscriber.
    func open(_ key: FeedKey, for shard: FeedShard) {
        listeners.withLock { $0[key.bytes, default: Listeners(key: key, shards: [])].shards.append(shard) }
    }

    /// Stops the delivery; called when the shard's last subscriber has left.
    func close(_ key: FeedKey, for shard: FeedShard) {
        listeners.withLock { listeners in
            listeners[key.bytes]?.shards.removeAll { $0 === shard }
            if listeners[key.bytes]?.shards.isEmpty == true { listeners[key.bytes] = nil }
        }
    }

    /// Handles a batch of messages, in order per partition.
    func handle(_ events: [RawEvent<DocumentChangesEvent>]) {
        var batches: [[UInt8]: (listeners: Listeners, events: [DocumentChangesEvent])] = [:]
        for event in events {
            let bytes = event.keyBytes
            if batches[bytes] == nil {
                guard let listening = listeners.withLock({ $0[bytes] }) else { continue }
                batches[bytes] = (listening, [])
            }
            do {
                batches[bytes]?.events.append(try event.decoded().payload)
            } catch {
                // Subscriptions of the partition detect the gap at the next change, and read it from Postgres.
                logger.error("a change can't be read", metadata: ["error": "\(error)"])
            }
        }
        for batch in batches.values {
            let frames = frames(of: batch.events, in: batch.listeners.key)
            GatewayMetrics.feedChanges.increment(by: batch.events.count)
            for shard in batch.listeners.shards { shard.deliver(frames, of: batch.listeners.key) }
        }
    }

    private func frames(of events: [DocumentChangesEvent], in key: FeedKey) -> [Frame] {
        let messages = events.lazy.map { event -> FeedRun<ChangeEvent>.Message in
            if case .change(let change) = event {
                .change(change, change.revision)
            } else {
                .announcement(event.revision)
            }
        }
        return FeedRun.runs(of: messages).map { run in
            switch run {
            case .changes(let changes, let from, let to): encode(changes, from: from, to: to, in: key)
            case .announcement(let revision):
                Frame(from: revision, to: revision, byteCount: 0, payload: .frame(WebSocketFrame(text: "")))
            }
        }
    }

    /// A change in a collection that is no longer synced takes its revision, but isn't sent to devices, except that a document has left
    /// the partition: devices may have it.
    private func encode(
        _ changes: [ChangeEvent], from: Revision, to: Revision, in key: FeedKey
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

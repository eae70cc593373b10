import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Logging
import SyncEngine
import SyncProtocol
import WebSocket

/// Takes every change of the pool, drops by key, unparsed, what no device here has open, and gives the rest, encoded once, to the
/// loops whose devices do.
final class ChangeFeed: Sendable {
    typealias Frame = LiveFrame<FeedPayload>

    private let listeners = Locked<[[UInt8]: Listeners]>([:])
    private let logger: Logger
    /// Whether devices know a collection of an app.
    private let syncs: @Sendable (String, ChangeEvent.Namespace) -> Bool

    /// From this many bytes on a frame is worth compressing.
    private static let compressibleBytes = 1024

    private struct Listeners {
        let key: FeedKey
        var shards: [FeedShard]
    }

    init(logger: Logger, syncs: @escaping @Sendable (String, ChangeEvent.Namespace) -> Bool) {
        self.logger = logger
        self.syncs = syncs
    }

    /// From now on the shard gets the partition's frames: called when its first subscriber comes.
    func open(_ key: FeedKey, for shard: FeedShard) {
        listeners.withLock { $0[key.bytes, default: Listeners(key: key, shards: [])].shards.append(shard) }
    }

    /// The shard's last subscriber has gone.
    func close(_ key: FeedKey, for shard: FeedShard) {
        listeners.withLock { listeners in
            listeners[key.bytes]?.shards.removeAll { $0 === shard }
            if listeners[key.bytes]?.shards.isEmpty == true { listeners[key.bytes] = nil }
        }
    }

    /// Handles what came, in its order per partition.
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
                // Whoever has the partition open notices the gap at the next change, and reads it from Postgres.
                logger.error("a change can't be read", metadata: ["error": "\(error)"])
            }
        }
        for batch in batches.values {
            let frames = frames(of: batch.events, in: batch.listeners.key)
            GatewayMetrics.feedChanges.increment(by: batch.events.count)
            for shard in batch.listeners.shards { shard.deliver(frames, of: batch.listeners.key) }
        }
    }

    /// Runs of consecutive revisions, each one frame.
    private func frames(of events: [DocumentChangesEvent], in key: FeedKey) -> [Frame] {
        var frames: [Frame] = []
        var run: [ChangeEvent] = []
        func finishRun() {
            if let first = run.first, let last = run.last {
                frames.append(encode(run, from: first, to: last, in: key))
            }
            run = []
        }
        for event in events {
            if case .change(let change) = event {
                if let last = run.last,
                    change.revision.epoch != last.revision.epoch || change.revision.number != last.revision.number + 1
                {
                    finishRun()
                }
                run.append(change)
            } else {
                finishRun()
                frames.append(Self.announcement(of: event.revision))
            }
        }
        finishRun()
        return frames
    }

    /// A frame that continues nothing: who isn't there yet has missed something, and catches up. For changes that are too large for
    /// the topic, and for heads.
    private static func announcement(of revision: Revision) -> Frame {
        Frame(from: revision, to: revision, byteCount: 0, payload: .frame(WebSocketFrame(text: "")))
    }

    /// What leaves the partition because its collection doesn't sync any more takes its revision, and no device hears of it.
    private func encode(
        _ changes: [ChangeEvent], from first: ChangeEvent, to last: ChangeEvent, in key: FeedKey
    ) -> Frame {
        let from = Revision(epoch: first.revision.epoch, number: first.revision.number - 1)
        var encoder = DownloadEncoder(partition: key.partition, from: from)
        var body: [UInt8] = []
        for change in changes where syncs(key.app, change.namespace) {
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
        let bytes = encoder.finish(to: last.revision)
        return Frame(
            from: from, to: last.revision, byteCount: bytes.count,
            payload: .frame(WebSocketFrame(.text, bytes, isCompressible: bytes.count >= Self.compressibleBytes)))
    }
}

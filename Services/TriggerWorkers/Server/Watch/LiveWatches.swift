import DocumentModel
import EventTopics
import Kafka

/// All open streams, as the tail of the topic gives them what is new.
struct LiveWatches: WatchTargets {
    let watches: Watches
    /// The offset of the next message of each partition of the topic, after the one that was reached last.
    private var offsets: [Int64]

    init(_ watches: Watches) {
        self.watches = watches
        offsets = watches.offsets
    }

    /// Says that the streams have been given everything that was reached.
    func finish() {
        watches.offsets = offsets
        watches.relieve()
    }

    func contains(app: String) -> Bool { watches.withIndex { $0.contains(app: app) } }

    func collections(of app: String) -> [ChangeEvent.Namespace] { watches.withIndex { $0.collections(of: app) } }

    func watches(of namespace: ChangeEvent.Namespace, app: String) -> [Watch] {
        watches.withIndex { $0.watches(of: namespace, app: app) }
    }

    mutating func reach(_ message: KafkaMessage) {
        // A topic that was made anew may have more partitions; `WatchPosition` then tells its tokens from the former ones.
        while offsets.count <= Int(message.partition) { offsets.append(0) }
        offsets[Int(message.partition)] = message.offset + 1
    }

    mutating func note(_ revision: Revision, of partition: [UInt8], app: String) -> RevisionBook.Place {
        watches.saw(epoch: revision.epoch)
        return watches.withIndex { $0.note(revision, of: partition, app: app) }
    }

    mutating func add(_ change: WatchedChange, to present: [Watch], _ revision: Revision, of message: KafkaMessage) {
        let position = watches.position(offsets, epoch: revision.epoch)
        for watch in present { watch.queue.add(.init(change, position), of: Int(message.partition)) }
    }

    func userDataChanged(of users: [String]?, app: String) {
        for namespace in collections(of: app) {
            for watch in watches(of: namespace, app: app)
            where users?.contains(where: { $0.hasSameBytes(as: watch.claims.user) }) ?? true { watch.userChanged() }
        }
    }

    func lose(app: String) { watches.end { $0.claims.app.hasSameBytes(as: app) ? .lost : nil } }
}

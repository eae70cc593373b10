import DocumentModel
import EventTopics
import Kafka

/// Streams that continue from earlier positions, as one reading of a part of the topic gives them what they missed.
struct ResumedWatches: WatchTargets {
    /// By how much the clocks of those who write to the topic may differ from a worker's, in milliseconds.
    private static let tolerance: Int64 = 60_000

    private struct Member {
        let watch: Watch
        let from: WatchPosition
        /// The place after the last change that its queue has taken.
        var reached: WatchPosition
        /// Whether its queue had no room, so that it has to continue later.
        var isFull = false
    }

    private struct Place: Hashable {
        let partition: Int
        let offset: Int64
    }

    private let watches: Watches
    private var index = WatchIndex()
    private var members: [ObjectIdentifier: Member] = [:]
    /// The last messages before the members' positions. One that is younger than the position belongs to a topic that was made anew.
    private var before: [Place: [ObjectIdentifier]] = [:]
    /// The offset of the next message of each partition of the topic.
    private(set) var offsets: [Int64]
    /// The offsets after the messages that the streams have to be given.
    let ends: [Int64]

    /// - Parameters:
    ///   - waiting: the streams, whose queues hold back what is new, and where they continue. Those that can't continue there are ended.
    ///   - limit: the number of messages that may be between a position and the topic's end.
    init(_ waiting: [(watch: Watch, from: WatchPosition)], _ watches: Watches, _ bounds: [KafkaWatermarks], limit: Int)
    {
        self.watches = watches
        ends = bounds.map(\.high)
        offsets = ends
        for (watch, from) in waiting {
            let places = zip(from.offsets, bounds)
            guard from.offsets.count == bounds.count, places.allSatisfy({ $1.low <= $0 && $0 <= $1.high }) else {
                watch.queue.end(.lost)
                continue
            }
            guard places.reduce(0, { $0 + Int($1.1.high - $1.0) }) <= limit else {
                watch.queue.end(.late)
                continue
            }
            let id = ObjectIdentifier(watch)
            members[id] = Member(watch: watch, from: from, reached: from)
            index.insert(watch)
            for (partition, (offset, bounds)) in places.enumerated() {
                let isKept = offset > bounds.low
                if isKept { before[Place(partition: partition, offset: offset - 1), default: []].append(id) }
                offsets[partition] = min(offsets[partition], isKept ? offset - 1 : offset)
            }
        }
    }

    /// Lets the streams that have been given everything go on with what is new.
    /// - Returns: the others, and where they continue.
    func finish() -> [(watch: Watch, from: WatchPosition)] {
        members.values.compactMap { member in
            let queue = member.watch.queue
            guard queue.end == nil else { return nil }
            let isDone = !member.isFull && queue.release(after: offsets)
            return isDone ? nil : (member.watch, member.isFull ? member.reached : position(of: member))
        }
    }

    /// Whether a stream still takes what is read.
    var isWanted: Bool { members.values.contains { !$0.isFull && $0.watch.queue.end == nil } }

    /// The place after the last change that a stream's queue has taken; `nil` for a stream that isn't among these.
    func reached(by watch: Watch) -> WatchPosition? { members[ObjectIdentifier(watch)]?.reached }

    func contains(app: String) -> Bool { index.contains(app: app) }

    func collections(of app: String) -> [ChangeEvent.Namespace] { index.collections(of: app) }

    func watches(of namespace: ChangeEvent.Namespace, app: String) -> [Watch] {
        index.watches(of: namespace, app: app)
    }

    mutating func reach(_ message: KafkaMessage) {
        let partition = Int(message.partition)
        if message.offset > offsets[partition] {
            // Retention has removed messages meanwhile.
            for member in members.values where member.from.offsets[partition] < message.offset {
                member.watch.queue.end(.lost)
            }
        }
        for id in before[Place(partition: partition, offset: message.offset)] ?? [] {
            guard let member = members[id], message.timestamp > member.from.time + Self.tolerance else { continue }
            member.watch.queue.end(.lost)
        }
        offsets[partition] = message.offset + 1
    }

    mutating func note(_ revision: Revision, of partition: [UInt8], app: String) -> RevisionBook.Place {
        index.note(revision, of: partition, app: app)
    }

    mutating func add(_ change: WatchedChange, to present: [Watch], _ revision: Revision, of message: KafkaMessage) {
        for watch in present {
            let id = ObjectIdentifier(watch)
            guard let member = members[id], !member.isFull, watch.queue.end == nil,
                message.offset >= member.from.offsets[Int(message.partition)]
            else { continue }
            let position = position(of: member)
            if watch.queue.addEarlier(.init(change, position)) {
                members[id]?.reached = position
            } else {
                members[id]?.isFull = true
            }
        }
    }

    /// Custom data is that of the present.
    func userDataChanged(of users: [String]?, app: String) {}

    func lose(app: String) {
        for member in members.values where member.watch.claims.app.hasSameBytes(as: app) {
            member.watch.queue.end(.lost)
        }
    }

    /// The place that the reading has reached, or the one where the stream continues, whichever is later in each partition.
    private func position(of member: Member) -> WatchPosition {
        watches.position(zip(offsets, member.from.offsets).map(max), epoch: member.from.epoch)
    }
}

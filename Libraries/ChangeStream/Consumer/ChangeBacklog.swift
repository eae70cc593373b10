import DocumentModel
import EventLoop
import EventStream
import EventTopics

/// The partitions that are behind: their changes are deferred until the changes before them have been read from Postgres.
///
/// A partition is added when its app exceeds its share of the changes that may wait in this process, and when the topic delivers a
/// change of the partition while older ones are unhandled, because another process, or this one before it was killed, deferred
/// them. All later changes of the partition are deferred too, so that the order is kept.
final class ChangeBacklog: EventBacklog {
    typealias Key = PartitionKey

    /// The first and last deferred change of a partition.
    struct Span: Equatable {
        var first: Revision
        var last: Revision
    }

    private struct Deferred {
        var span: Span
        /// The collection of the change that put the partition behind; `nil` if that is unknown.
        let collection: ExactText?
    }

    private struct State {
        var behind: [Key: Deferred] = [:]
        var apps: [ExactText: Readings] = [:]
        var hasMoved = false
        /// Partitions whose first change in this process was checked for a gap before it.
        var checked: Set<Key> = []

        /// - Parameter collection: That of the change, which counts if the partition isn't behind yet.
        mutating func add(_ key: Key, _ revision: Revision, of collection: @autoclosure () -> ExactText?) {
            if let span = behind[key]?.span {
                behind[key]?.span = Span(first: min(span.first, revision), last: max(span.last, revision))
            } else {
                let collection = collection()
                behind[key] = Deferred(span: Span(first: revision, last: revision), collection: collection)
                apps[ExactText(key.app), default: Readings()].wait(key, of: collection)
            }
        }

        mutating func release(_ key: Key) {
            let app = ExactText(key.app)
            apps[app]?.end(key)
            if let deferred = behind[key] { apps[app, default: Readings()].wait(key, of: deferred.collection) }
            if apps[app]?.isEmpty == true { apps[app] = nil }
        }
    }

    /// The partitions of an app that are behind: those being read, and those that wait for it, whose collections take turns. The changes of a
    /// slow trigger's collection wait in its lane, however few partitions are read: these must not keep those of other collections from
    /// being read.
    private struct Readings {
        private struct Reader {
            let collection: ExactText?
            var isLong = false
        }

        private var waiting = Turns<ExactText?, Key>()
        private var readers: [Key: Reader] = [:]

        var isEmpty: Bool { waiting.count == 0 && readers.isEmpty }

        mutating func wait(_ key: Key, of collection: ExactText?) { waiting.append(key, of: collection) }

        /// The partitions that can be read now.
        mutating func take() -> [Key] {
            var taken: [Key] = []
            while readers.values.count(where: { !$0.isLong }) < readersPerApp,
                let (collection, key) = waiting.pop(where: mayHaveMore)
            {
                readers[key] = Reader(collection: collection)
                taken.append(key)
            }
            return taken
        }

        private func mayHaveMore(_ collection: ExactText?) -> Bool {
            readers.values.count { $0.collection == collection } < readersPerCollection
        }

        mutating func isLong(_ key: Key) { readers[key]?.isLong = true }

        mutating func end(_ key: Key) { readers[key] = nil }
    }

    /// The maximum number of partitions that are deferred for exceeding their app's share; changes of others wait in their lanes.
    private static let limit = 20_000
    /// The maximum number of partitions of one app that are read at the same time, without those whose reading takes long.
    private static let readersPerApp = 8
    /// The maximum number of partitions of one collection that are read at the same time.
    private static let readersPerCollection = 4

    /// Yields when deferred changes may be ready to read, and when the number of partitions that are behind may have changed.
    let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    /// Rings when partitions of the topic were assigned or revoked.
    let moves = Alarm()
    private let state = Locked(State())

    init() { (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    // MARK: Deferring changes

    func takes(_ event: ReceivedEvent<DocumentChangesEvent>, isOverBudget: Bool) -> Bool {
        guard let namespace = event.payload.document?.namespace else { return false }
        let revision = event.payload.revision
        let key = Key(app: event.payload.app, partition: event.payload.partition)
        return state.withLock { state in
            if state.behind[key] == nil {
                guard isOverBudget, state.behind.count < Self.limit else { return false }
                wake.yield()
            }
            state.add(key, revision, of: ExactText("\(namespace.database).\(namespace.collection)"))
            return true
        }
    }

    /// How many partitions are behind.
    var count: Int { state.withLock { $0.behind.count } }

    func contains(_ key: Key) -> Bool { state.withLock { $0.behind[key] != nil } }

    // MARK: The first changes of partitions

    /// Returns the partitions that haven't been checked for a gap before their first change.
    func unchecked(_ keys: [Key]) -> [Key] { state.withLock { state in keys.filter { !state.checked.contains($0) } } }

    /// Checks for gaps before the first changes of partitions, and defers the partitions that have one.
    /// - Parameter progress: what the consumer has handled; `nil` when that is unknown, which defers all of them.
    func check(_ firsts: [Key: ChangeNotices.First], _ progress: [Key: HandledEvents.Progress]?) {
        state.withLock { state in
            // A partition that is removed here is only checked once more.
            if state.checked.count > 100_000 { state.checked = [] }
            for (key, first) in firsts {
                state.checked.insert(key)
                let revision = first.revision
                if let progress {
                    if revision.number <= (progress[key] ?? .none).before(revision).watermark + 1 { continue }
                }
                state.add(key, revision, of: first.collection)
                wake.yield()
            }
        }
    }

    func partitionsMoved() {
        state.withLock { state in
            state.checked = []
            state.hasMoved = true
        }
        moves.set()
    }

    /// Returns whether partitions of the topic were assigned or revoked since the last call.
    func takeMoved() -> Bool {
        state.withLock { state in
            defer { state.hasMoved = false }
            return state.hasMoved
        }
    }

    // MARK: Reading

    /// Returns the partitions to read now. Each counts as being read until `finish` or `giveUp` is called for it.
    func next() -> [(key: Key, span: Span)] {
        state.withLock { state in
            var taken: [(key: Key, span: Span)] = []
            for app in Array(state.apps.keys) {
                for key in state.apps[app]?.take() ?? [] {
                    if let span = state.behind[key]?.span {
                        taken.append((key: key, span: span))
                    } else {
                        state.apps[app]?.end(key)
                    }
                }
            }
            return taken
        }
    }

    /// Ends the reading of a partition whose changes up to the end of `span` are handled. Unless more were deferred in the meantime, the
    /// partition's later changes wait in lanes again.
    func finish(_ key: Key, _ span: Span) {
        state.withLock { state in
            if state.behind[key]?.span.last == span.last { state.behind[key] = nil }
            state.release(key)
        }
        wake.yield()
    }

    /// Notes that a partition is being read for long, so that another one of the app can be read beside it.
    func takesLong(_ key: Key) {
        state.withLock { $0.apps[ExactText(key.app)]?.isLong(key) }
        wake.yield()
    }

    /// Ends the reading of a partition early: it belongs to another member now, or goes on later, after others of its collection.
    func giveUp(_ key: Key, isOurs: Bool) {
        state.withLock { state in
            if !isOurs { state.behind[key] = nil }
            state.release(key)
        }
        wake.yield()
    }
}

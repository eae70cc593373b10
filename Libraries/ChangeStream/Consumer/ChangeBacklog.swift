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

    private struct State {
        var behind: [Key: Span] = [:]
        var apps: [ExactText: Readings] = [:]
        /// The partitions whose changes take long to handle, as the last attempt to read all of them showed.
        var slow: Set<Key> = []
        var hasMoved = false
        /// Partitions whose first change in this process was checked for a gap before it.
        var checked: Set<Key> = []

        mutating func add(_ key: Key, _ revision: Revision) {
            if let span = behind[key] {
                behind[key] = Span(first: min(span.first, revision), last: max(span.last, revision))
            } else {
                behind[key] = Span(first: revision, last: revision)
                apps[ExactText(key.app), default: Readings()].wait(key, isSlow: false)
            }
        }

        /// - Parameter isSlow: whether the reading showed that the partition's changes take long to handle.
        mutating func release(_ key: Key, isSlow: Bool = false) {
            let app = ExactText(key.app)
            apps[app]?.end(isSlow: slow.contains(key))
            if isSlow { slow.insert(key) }
            if behind[key] == nil {
                slow.remove(key)
            } else {
                apps[app, default: Readings()].wait(key, isSlow: slow.contains(key))
            }
            if apps[app]?.isEmpty == true { apps[app] = nil }
        }
    }

    /// The partitions of an app that are behind: those being read, and those that wait for it. Slow ones and others leave a place to
    /// each other, so that the partitions of a slow trigger's collection don't hold up those of another one.
    private struct Readings {
        private var quick = Kind()
        private var slow = Kind()

        private struct Kind {
            /// Oldest first.
            var waiting: [Key] = []
            var readers = 0
        }

        var isEmpty: Bool {
            quick.waiting.isEmpty && slow.waiting.isEmpty && quick.readers == 0 && slow.readers == 0
        }

        mutating func wait(_ key: Key, isSlow: Bool) {
            if isSlow { slow.waiting.append(key) } else { quick.waiting.append(key) }
        }

        /// The partitions that can be read now.
        mutating func take() -> [Key] {
            let isShared = !slow.waiting.isEmpty || slow.readers > 0
            var taken: [Key] = []
            while quick.readers + slow.readers < readersPerApp, quick.readers < readersPerApp - (isShared ? 1 : 0),
                !quick.waiting.isEmpty
            {
                quick.readers += 1
                taken.append(quick.waiting.removeFirst())
            }
            while quick.readers + slow.readers < readersPerApp, slow.readers < readersPerApp - 1, !slow.waiting.isEmpty
            {
                slow.readers += 1
                taken.append(slow.waiting.removeFirst())
            }
            return taken
        }

        mutating func end(isSlow: Bool) {
            if isSlow { slow.readers -= 1 } else { quick.readers -= 1 }
        }
    }

    /// The maximum number of partitions that are deferred for exceeding their app's share; changes of others wait in their lanes.
    private static let limit = 20_000
    /// The maximum number of partitions of one app that are read at the same time.
    private static let readersPerApp = 4

    /// Yields when deferred changes may be ready to read, and when the number of partitions that are behind may have changed.
    let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    /// Rings when partitions of the topic were assigned or revoked.
    let moves = Alarm()
    private let state = Locked(State())

    init() { (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    // MARK: Deferring changes

    func takes(_ event: ReceivedEvent<DocumentChangesEvent>, isOverBudget: Bool) -> Bool {
        if case .head = event.payload { return false }
        let revision = event.payload.revision
        let key = Key(app: event.payload.app, partition: event.payload.partition)
        return state.withLock { state in
            if state.behind[key] == nil {
                guard isOverBudget, state.behind.count < Self.limit else { return false }
                wake.yield()
            }
            state.add(key, revision)
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
    func check(_ firsts: [Key: Revision], _ progress: [Key: HandledEvents.Progress]?) {
        state.withLock { state in
            // A partition that is removed here is only checked once more.
            if state.checked.count > 100_000 { state.checked = [] }
            for (key, first) in firsts {
                state.checked.insert(key)
                if let progress {
                    if first.number <= (progress[key] ?? .none).before(first).watermark + 1 { continue }
                }
                state.add(key, first)
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
                    if let span = state.behind[key] {
                        taken.append((key: key, span: span))
                    } else {
                        state.apps[app]?.end(isSlow: state.slow.contains(key))
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
            if state.behind[key]?.last == span.last { state.behind[key] = nil }
            state.release(key)
        }
        wake.yield()
    }

    /// Ends the reading of a partition whose changes take long to handle, so that others get their turn; it goes on later.
    func pause(_ key: Key) {
        state.withLock { $0.release(key, isSlow: true) }
        wake.yield()
    }

    /// Ends the reading of a partition early: it belongs to another member now, or has to be read again later.
    func giveUp(_ key: Key, isOurs: Bool) {
        state.withLock { state in
            if !isOurs { state.behind[key] = nil }
            state.release(key)
        }
        wake.yield()
    }
}

import DocumentModel
import EventLoop
import EventStream
import EventTopics

/// Which partitions are behind: their changes go by unhandled, until those before them have been read from Postgres.
///
/// A partition gets here when its app holds too much of what may wait in this process, and when the topic brings a change of it while
/// older ones are not handled: they went by another process, or this one before it was killed. All that follows goes by too,
/// so that the order stays.
final class ChangeBacklog: EventBacklog {
    typealias Key = PartitionKey

    /// Changes that went by.
    struct Span: Equatable {
        var first: Revision
        var last: Revision
    }

    private struct State {
        var behind: [Key: Span] = [:]
        /// By app: of which nobody reads yet, in their order, and of how many somebody does.
        var waiting: [ExactText: [Key]] = [:]
        var readers: [ExactText: Int] = [:]
        var hasMoved = false
        /// Partitions whose first change here was looked at.
        var checked: Set<Key> = []

        mutating func add(_ key: Key, _ revision: Revision) {
            if let span = behind[key] {
                behind[key] = Span(first: min(span.first, revision), last: max(span.last, revision))
            } else {
                behind[key] = Span(first: revision, last: revision)
                waiting[key.app, default: []].append(key)
            }
        }

        mutating func release(_ key: Key) {
            readers[key.app, default: 1] -= 1
            if readers[key.app] == 0 { readers[key.app] = nil }
            if behind[key] != nil { waiting[key.app, default: []].append(key) }
        }
    }

    /// At most so many; others wait in their lanes.
    private static let limit = 20_000
    /// Partitions of one app that are read at the same time.
    private static let readersPerApp = 4

    /// Yields when there may be something to read, or less is behind.
    let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    /// Rings when partitions of the topic came or went.
    let moves = Alarm()
    private let state = Locked(State())

    init() { (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    // MARK: What goes by

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

    /// Those of which nobody knows whether what is before them is handled.
    func unchecked(_ keys: [Key]) -> [Key] { state.withLock { state in keys.filter { !state.checked.contains($0) } } }

    /// Looks whether there is a gap before the first changes of partitions.
    /// - Parameter progress: what is handled; `nil` when that is unknown.
    func check(_ firsts: [Key: Revision], _ progress: [Key: HandledEvents.Progress]?) {
        state.withLock { state in
            // Forgetting costs another look.
            if state.checked.count > 100_000 { state.checked = [] }
            for (key, first) in firsts {
                state.checked.insert(key)
                if let progress {
                    let done = progress[key] ?? .none
                    if first.epoch > done.epoch || first.number <= done.watermark + 1 { continue }
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

    /// Whether partitions of the topic came or went since it was asked last.
    func takeMoved() -> Bool {
        state.withLock { state in
            defer { state.hasMoved = false }
            return state.hasMoved
        }
    }

    // MARK: Reading

    /// Partitions that are to be read now; each until `finish` or `giveUp`.
    func next() -> [(key: Key, span: Span)] {
        state.withLock { state in
            var taken: [(key: Key, span: Span)] = []
            for app in Array(state.waiting.keys) {
                let number = Self.readersPerApp - state.readers[app, default: 0]
                let keys = state.waiting[app]?.prefix(number) ?? []
                guard !keys.isEmpty else { continue }
                let found = keys.compactMap { key in state.behind[key].map { (key: key, span: $0) } }
                taken += found
                state.readers[app, default: 0] += found.count
                state.waiting[app]?.removeFirst(keys.count)
                if state.waiting[app]?.isEmpty == true { state.waiting[app] = nil }
            }
            return taken
        }
    }

    /// Everything of a partition up to there is handled. Unless more went by meanwhile, its changes wait in lanes again.
    func finish(_ key: Key, _ span: Span) {
        state.withLock { state in
            if state.behind[key]?.last == span.last { state.behind[key] = nil }
            state.release(key)
        }
        wake.yield()
    }

    /// It is another member's now, or is to be read again.
    func giveUp(_ key: Key, isOurs: Bool) {
        state.withLock { state in
            if !isOurs { state.behind[key] = nil }
            state.release(key)
        }
        wake.yield()
    }
}

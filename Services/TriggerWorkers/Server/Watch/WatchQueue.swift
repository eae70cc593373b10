import DocumentModel
import EventLoop

/// The changes that wait for one stream. It never waits for its reader: when too many changes or bytes wait, it ends the stream.
final class WatchQueue: Sendable {
    /// What the stream does next.
    enum Step: Sendable {
        /// It considers these changes, in order.
        case changes([Entry])
        /// It sends a heartbeat. All changes before the position were passed on.
        case heartbeat(WatchPosition?)
        case end(WatchEnd)
    }

    /// A change, and the place after it.
    struct Entry: Sendable {
        let change: WatchedChange
        var position: WatchPosition

        init(_ change: WatchedChange, _ position: WatchPosition) {
            self.change = change
            self.position = position
        }
    }

    /// What came of the topic's end while the stream still gets earlier changes.
    private struct Held {
        var entries: [(entry: Entry, partition: Int)] = []
        var bytes = 0
        /// Whether there was too much, so that everything was dropped.
        var isCut = false
    }

    /// The numbers of changes and bytes that are passed on in one step.
    private static let step = (changes: 64, bytes: 1 << 20)

    private struct State {
        var changes = FIFO<Entry>()
        var held: Held?
        /// Where the earlier changes have ended, until the topic's end has brought everything before it as well.
        var joint: [Int64]?
        var count = 0
        /// Also of the changes of the present step.
        var bytes = 0
        var present = 0
        var end: WatchEnd?
        /// The heartbeat that is due.
        var beat: WatchPosition??
        var waiter: CheckedContinuation<Step, Never>?
        /// Whether something was passed on since the last beat.
        var isBusy = false

        mutating func next(_ limit: (changes: Int, bytes: Int)) -> Step? {
            bytes -= present
            present = 0
            if let end { return .end(end) }
            var taken: [Entry] = []
            while !changes.isEmpty, taken.isEmpty || taken.count < limit.changes && present < limit.bytes {
                let change = changes.removeFirst()
                count -= 1
                present += change.change.size
                taken.append(change)
            }
            if !taken.isEmpty {
                isBusy = true
                beat = nil
                return .changes(taken)
            }
            guard let position = beat else { return nil }
            beat = nil
            // What is held back may be before the position.
            return .heartbeat(held == nil ? position.map { later($0) } : nil)
        }

        /// A place that the topic's end has reached, as the stream has reached it.
        mutating func later(_ position: WatchPosition) -> WatchPosition {
            guard let joint else { return position }
            let later = position.orLater(joint)
            if later === position { self.joint = nil }
            return later
        }

        /// Adds a change that the topic's end has brought, unless it was among the earlier ones.
        /// - Returns: false when too much waits.
        mutating func appendNew(_ entry: Entry, _ partition: Int, _ limits: (changes: Int, bytes: Int)) -> Bool {
            // The offset of the change is the one before the position.
            if let joint, partition < joint.count, entry.position.offsets[partition] <= joint[partition] { return true }
            var entry = entry
            entry.position = later(entry.position)
            return append(entry, limits)
        }

        /// Adds a change, unless too much waits.
        mutating func append(_ entry: Entry, _ limits: (changes: Int, bytes: Int)) -> Bool {
            let size = entry.change.size
            // The oldest doesn't count: a single change may be larger than the limit.
            let oldest = changes.waiting.first?.change.size ?? size
            guard count < limits.changes, bytes - present + size - oldest <= limits.bytes else { return false }
            changes.append(entry)
            count += 1
            bytes += size
            return true
        }
    }

    private let limits: (changes: Int, bytes: Int)
    private let state = Locked(State())

    /// - Parameters:
    ///   - changes: the number of changes that may wait.
    ///   - bytes: the number of bytes that may wait, besides the oldest change that does and those of the present step.
    init(changes: Int, bytes: Int) { limits = (changes, bytes) }

    /// The bytes that wait, also those that are held back.
    var bytes: Int { state.withLock { $0.bytes + ($0.held?.bytes ?? 0) } }

    /// Why the stream ends; `nil` while it doesn't.
    var end: WatchEnd? { state.withLock { $0.end } }

    /// Adds a change that the topic's end has brought, or ends the stream when too much waits.
    /// - Parameters:
    ///   - entry: the change, and the place after it.
    ///   - partition: the topic's partition that has it.
    func add(_ entry: Entry, of partition: Int) {
        resume { state in
            guard state.end == nil else { return }
            guard var held = state.held else {
                if !state.appendNew(entry, partition, limits) { Self.end(&state, .slow) }
                return
            }
            state.held = nil  // so that the array isn't copied
            held.bytes += entry.change.size
            held.isCut = held.isCut || held.entries.count >= limits.changes || held.bytes > limits.bytes
            if held.isCut {
                held.entries = []
                held.bytes = 0
            } else {
                held.entries.append((entry, partition))
            }
            state.held = held
        }
    }

    // MARK: Continuing from an earlier position

    /// Holds back what `add` adds from now on, until `release`.
    func hold() { state.withLock { $0.held = Held() } }

    /// Adds an earlier change, in spite of `hold`.
    /// - Returns: false when too much waits; the change isn't added then.
    func addEarlier(_ entry: Entry) -> Bool {
        var isAdded = true
        resume { state in if state.end == nil { isAdded = state.append(entry, limits) } }
        return isAdded
    }

    /// Whether so little waits that it is worthwhile to add earlier changes.
    var hasRoom: Bool {
        state.withLock { $0.count <= limits.changes / 2 && $0.bytes - $0.present <= limits.bytes / 2 }
    }

    /// Adds what was held back, but for what was among the earlier changes, and holds back nothing more.
    /// - Parameter offsets: where the earlier changes have ended in each partition of the topic.
    /// - Returns: false when too much was held back, so that it is missing, or when too much waits. It then goes on holding back.
    func release(after offsets: [Int64]) -> Bool {
        var isReleased = false
        resume { state in
            guard state.end == nil, let held = state.held, !held.isCut,
                state.count + held.entries.count <= limits.changes,
                held.entries.isEmpty || state.bytes - state.present + held.bytes <= limits.bytes
            else { return }
            state.held = nil
            state.joint = offsets
            // There is room for all of them.
            for (entry, partition) in held.entries { _ = state.appendNew(entry, partition, limits) }
            isReleased = true
        }
        return isReleased
    }

    /// Ends the stream: what waits is dropped. Only the first reason counts.
    func end(_ reason: WatchEnd) { resume { Self.end(&$0, reason) } }

    /// Makes the stream send a heartbeat, unless it has had something else to send since the last call.
    /// - Parameter position: a place before which all changes have been added.
    func beat(_ position: WatchPosition?) {
        resume { state in
            state.beat = state.isBusy ? nil : .some(position)
            state.isBusy = false
        }
    }

    /// Waits for the next step. Only one task may call it. A cancelled task's stream has ended.
    func next() async -> Step {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let step = state.withLock { state in
                    let step = state.next(Self.step)
                    if step == nil { state.waiter = continuation }
                    return step
                }
                if let step { continuation.resume(returning: step) }
            }
        } onCancel: {
            end(.left)
        }
    }

    private static func end(_ state: inout State, _ reason: WatchEnd) {
        guard state.end == nil else { return }
        state.end = reason
        state.changes = FIFO()
        state.held = nil
        state.count = 0
        state.bytes = state.present
    }

    private func resume(_ change: (inout State) -> Void) {
        let (waiter, step) = state.withLock { state -> (CheckedContinuation<Step, Never>?, Step?) in
            change(&state)
            guard let waiter = state.waiter, let step = state.next(Self.step) else { return (nil, nil) }
            state.waiter = nil
            return (waiter, step)
        }
        if let step { waiter?.resume(returning: step) }
    }
}

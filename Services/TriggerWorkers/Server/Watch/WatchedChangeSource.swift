import ChangeStream
import DocumentModel
import EventLoop
import EventTopics

/// Where the documents of a change are: in the event, or in the change row that the event names, which is read once for all streams.
final class WatchedChangeSource: Sendable {
    private enum State {
        case known(ChangeEvent)
        case named(LargeChange)
        case reading(Task<ChangeEvent, any Error>)
    }

    private let state: Locked<State>
    private let history: ChangeHistory
    private let gate: FairGate<ExactText>

    /// - Parameters:
    ///   - event: a change.
    ///   - gate: admits the reads of changes whose documents aren't in the event.
    init(_ event: DocumentChangesEvent, _ history: ChangeHistory, _ gate: FairGate<ExactText>) {
        switch event {
        case .change(let change): state = Locked(.known(change))
        case .large(let change): state = Locked(.named(change))
        case .head: preconditionFailure("a head isn't a change")
        }
        self.history = history
        self.gate = gate
    }

    /// - Throws: `WatchEnd` when the change row is no longer kept; errors of the database.
    func event() async throws -> ChangeEvent {
        let (event, reading): (ChangeEvent?, Task<ChangeEvent, any Error>?) = state.withLock { state in
            switch state {
            case .known(let event): return (event, nil)
            case .reading(let task): return (nil, task)
            case .named(let large):
                // It belongs to all streams that wait for it, so it doesn't end with one of them.
                let task = Task { [history, gate] in try await Self.read(large, history, gate) }
                state = .reading(task)
                return (nil, task)
            }
        }
        if let event { return event }
        guard let reading else { throw WatchEnd.lost }
        return try await reading.value
    }

    private static func read(
        _ large: LargeChange, _ history: ChangeHistory, _ gate: FairGate<ExactText>
    ) async throws -> ChangeEvent {
        let app = ExactText(large.app)
        // Each stream has its number of waiting changes, which bounds how many wait here.
        try await gate.enter(app, isCounted: false)
        defer { gate.leave(app) }
        let found = try await history.change(app: large.app, partition: large.partition, revision: large.revision)
        guard let found else { throw WatchEnd.lost }
        return found
    }
}

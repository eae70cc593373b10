import DocumentModel
import EventLoop

/// What stays the same when a call starts again from the beginning: its time, and the ids that it gives to documents. Otherwise what it
/// asks about a document, as rule functions are asked, would be another question each time.
public final class RepeatableCall: Sendable {
    /// The call that this task carries out.
    @TaskLocal static var current: RepeatableCall?

    private struct State {
        var now: Int64?
        var ids: [ObjectId] = []
        /// How many of the ids this attempt has used.
        var used = 0
    }

    private let state = Locked(State())

    public init() {}

    /// Carries out an attempt.
    public func attempt<R>(_ body: () async throws -> R) async rethrows -> R {
        state.withLock { $0.used = 0 }
        return try await Self.$current.withValue(self, operation: body)
    }

    /// The `_id` for a document that has none.
    static func newID() -> Value {
        guard let current else { return .objectId(ObjectId()) }
        return current.state.withLock { state in
            if state.used == state.ids.count { state.ids.append(ObjectId()) }
            defer { state.used += 1 }
            return .objectId(state.ids[state.used])
        }
    }

    /// The time of the present call, in milliseconds since 1970.
    static func now(_ clock: WallClock) -> Int64 {
        guard let current else { return clock.now() }
        return current.state.withLock { state in
            let now = state.now ?? clock.now()
            state.now = now
            return now
        }
    }
}

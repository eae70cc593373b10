import Cuv
import Synchronization

/// How busy a loop is.
public struct LoopLoad: Sendable, Equatable {
    /// The total time that the loop has worked. Its increase per second is the loop's utilisation.
    public var busy: Duration
    /// The longest time, within the last 10 to 20 seconds, that the loop worked without polling its sockets, and so the longest
    /// time that incoming data had to wait. The current turn is included.
    public var lag: Duration
}

/// Measures the turns of a loop: from the first callback after a poll to the start of the next poll.
///
/// Written by the loop's thread only, read by any.
final class LoopLoadMeter: Sendable {
    private static let window: UInt64 = 10_000_000_000

    /// The start of the current turn; 0 while the loop polls.
    private let turnStart = Atomic<UInt64>(0)
    private let busy = Atomic<UInt64>(0)
    private let windowStart = Atomic<UInt64>(0)
    private let longestInWindow = Atomic<UInt64>(0)
    private let longestInWindowBefore = Atomic<UInt64>(0)

    @inline(__always)
    func beginTurn() {
        if turnStart.load(ordering: .relaxed) == 0 { turnStart.store(uv_hrtime(), ordering: .relaxed) }
    }

    func endTurn() {
        let start = turnStart.load(ordering: .relaxed)
        if start == 0 { return }
        let end = uv_hrtime()
        turnStart.store(0, ordering: .relaxed)
        let duration = end &- start
        busy.store(busy.load(ordering: .relaxed) &+ duration, ordering: .relaxed)
        if end &- windowStart.load(ordering: .relaxed) > Self.window {
            let isAdjacent = end &- windowStart.load(ordering: .relaxed) < 2 * Self.window
            longestInWindowBefore.store(
                isAdjacent ? longestInWindow.load(ordering: .relaxed) : 0, ordering: .relaxed)
            longestInWindow.store(duration, ordering: .relaxed)
            windowStart.store(end, ordering: .relaxed)
        } else if duration > longestInWindow.load(ordering: .relaxed) {
            longestInWindow.store(duration, ordering: .relaxed)
        }
    }

    var load: LoopLoad {
        let now = uv_hrtime()
        let start = turnStart.load(ordering: .relaxed)
        let present = start == 0 || start > now ? 0 : now - start
        // An idle loop doesn't update its window.
        let age = now &- windowStart.load(ordering: .relaxed)
        let longest =
            age > 2 * Self.window
            ? 0
            : max(longestInWindow.load(ordering: .relaxed), longestInWindowBefore.load(ordering: .relaxed))
        return LoopLoad(
            busy: .nanoseconds(Int64(clamping: busy.load(ordering: .relaxed) &+ present)),
            lag: .nanoseconds(Int64(clamping: max(present, longest))))
    }
}

import DocumentModel
import EventLoop

/// How long ordered triggers wait between the attempts to run a function that throws, in total: otherwise events of one user for which it always
/// throws would hold up all others behind them for most of a second each.
final class RetryWaits: Sendable {
    /// How much a trigger may have saved, and which part of the time is added to it.
    private static let most = Duration.seconds(10)
    private static let share = 0.2

    private struct Saved {
        var wait: Duration
        var since: ContinuousClock.Instant
    }

    private let saved = Locked<[ExactText: Saved]>([:])

    /// - Returns: how long to wait now: the whole time, or not at all when the trigger has waited too much lately.
    func take(_ wait: Duration, of trigger: String, app: String, now: ContinuousClock.Instant = .now) -> Duration {
        saved.withLock { saved in
            // What is full is as if it had never been used.
            if saved.count > 1000 { saved = saved.filter { Self.grown($0.value, now) < Self.most } }
            let key = ExactText("\(app)/\(trigger)")
            let rest = saved[key].map { Self.grown($0, now) } ?? Self.most
            let isEnough = rest >= wait
            saved[key] = Saved(wait: isEnough ? rest - wait : rest, since: now)
            return isEnough ? wait : .zero
        }
    }

    private static func grown(_ saved: Saved, _ now: ContinuousClock.Instant) -> Duration {
        min(most, saved.wait + (now - saved.since) * share)
    }
}

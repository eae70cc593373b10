import DocumentModel
import EventLoop

/// How long ordered triggers wait between the attempts to run a function that throws, in total: otherwise events of one user for which it always
/// throws would hold up all others behind them for most of a second each.
struct RetryWaits: Sendable {
    /// How long a trigger may wait at once.
    private static let allowance = Duration.seconds(10)

    private let waited = TimeBudget(share: 0.2, allowance: allowance)

    /// - Returns: how long to wait now: the whole time, or not at all when the trigger has waited too much lately.
    func take(_ wait: Duration, of trigger: String, app: String, now: ContinuousClock.Instant = .now) -> Duration {
        let sender = Fingerprint("\(app)/\(trigger)".utf8).value
        guard waited.debt(of: sender, now: now) + wait <= Self.allowance else { return .zero }
        _ = waited.charge(wait, of: sender, now: now)
        return wait
    }
}

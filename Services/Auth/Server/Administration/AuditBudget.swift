import DocumentModel
import EventLoop

/// Limits the records of refused calls, so that nobody fills the audit log with a token that was revoked, or with requests that no action
/// takes: so many a minute for each token. Each process counts for itself.
final class AuditBudget: Sendable {
    enum Verdict {
        case write
        /// The first beyond the limit: the log shall say that records are missing from here on.
        case writeLast
        case count
    }

    /// Records of one token a minute.
    static let limit = 60
    private static let window: Int64 = 60_000

    private struct Window {
        var start: Int64
        var count = 0
    }

    private let clock: WallClock
    /// By tokens that exist, which only operators make.
    private let windows = Locked<[ExactText: Window]>([:])

    init(clock: WallClock) { self.clock = clock }

    /// What is to be done with the next record of a token.
    func spend(_ token: String) -> Verdict {
        let now = clock.now()
        return windows.withLock { windows in
            var window = windows[ExactText(token)] ?? Window(start: now)
            // Also after a clock that was set back.
            if !(0..<Self.window).contains(now - window.start) { window = Window(start: now) }
            window.count += 1
            windows[ExactText(token)] = window
            return window.count <= Self.limit ? .write : window.count == Self.limit + 1 ? .writeLast : .count
        }
    }
}

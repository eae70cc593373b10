#if os(Linux)
    import Glibc

    /// The places of a text at which one call looks for the beginning of a match: many where they take no time, few where each takes long, so
    /// that a search can be interrupted within a fraction of a second. A call learns from its first places (PCRE2 remembers what can't follow), and
    /// so many small ones would take longer.
    struct SearchWindow {
        /// The size of the first, in bytes.
        static let first = 64
        /// The longest time that a search may take, of the thread's: the machine may be busy.
        static let limit = Duration.seconds(1)

        /// In bytes.
        private(set) var size = Self.first
        private var used = Duration.zero

        /// The processor time of the calling thread.
        static var now: Duration {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }

        /// Counts the time of a window without a match, and chooses the size of the next.
        /// - Parameters:
        ///   - isDone: Whether that window is searched to its end.
        ///   - next: The time that going on takes, as far as it is known.
        /// - Returns: whether the search may go on.
        mutating func took(_ time: Duration, isDone: Bool, next: Duration) -> Bool {
            used += time
            if isDone, time < .milliseconds(60) {
                size = min(size * 4, 1 << 30)
            } else if time > .milliseconds(250) {
                size = max(size / 4, 1)
            }
            return used + next < Self.limit
        }
    }
#endif

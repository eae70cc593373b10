/// How fast a client takes a complete response. libmicrohttpd's idle timeout restarts with every byte, so a client that takes one
/// occasionally would keep the response in memory for days.
struct AnswerProgress {
    /// The bytes that a client has to take per second.
    private static let leastRate: UInt64 = 4 << 10

    /// The bytes that were passed to the kernel. It counts only those of a large response; a small one is sent within a window anyway.
    var bytes: UInt64 = 0
    private var windowStart: UInt64
    private var windowBytes: UInt64 = 0

    /// - Parameter now: the loop's milliseconds.
    init(now: UInt64) { windowStart = now }

    /// Whether the client took too few bytes in the window that has ended, if one has.
    ///
    /// - Parameter window: the milliseconds over which the rate is averaged. The average since the beginning would allow a pause of minutes,
    ///   since the kernel takes megabytes at once.
    mutating func isTooSlow(now: UInt64, window: UInt64) -> Bool {
        let elapsed = now - windowStart
        guard elapsed >= window else { return false }
        let isSlow = (bytes - windowBytes) * 1000 < Self.leastRate * elapsed
        windowStart = now
        windowBytes = bytes
        return isSlow
    }
}

import EventLoop
import Redis

/// A change of counts that limit calls: a script for Redis, and the same for the memory of a process.
package struct CountScript: Sendable {
    let redis: RedisScript
    /// Whether it takes counts back.
    let givesBack: Bool
    /// The equal of the script: takes the same keys and arguments, and returns the same answer.
    let local: @Sendable (inout LocalCounts, [String], [Int64]) -> Int64

    package init(
        redis: RedisScript, givesBack: Bool = false,
        local: @escaping @Sendable (inout LocalCounts, [String], [Int64]) -> Int64
    ) {
        self.redis = redis
        self.givesBack = givesBack
        self.local = local
    }

    /// Takes a call from several limits of so many calls a minute, a minute's worth of which may come at once. The answer is the
    /// milliseconds to wait, and nothing is taken; 0 if the call is admitted.
    static let budget = CountScript(redis: RedisScript(PackageResources.budget_lua)) { counts, keys, arguments in
        counts.spend(zip(keys, arguments).map { ($0, $1) })
    }

    /// Counts a call in a time of so many milliseconds that begins with the first one. The answer is its number within that time.
    static let window = CountScript(redis: RedisScript(PackageResources.window_lua)) { counts, keys, arguments in
        guard let key = keys.first, let time = arguments.first else { return 0 }
        let count = counts[key].count + 1
        if count == 1 {
            counts.set(key, LocalCounts.Entry(count: 1), memory: Double(time))
        } else {
            counts.change(key) { $0.count = count }
        }
        return count
    }
}

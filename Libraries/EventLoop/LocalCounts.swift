/// Counts of callers in memory: each expires. Their number is bounded.
package struct LocalCounts: Sendable {
    package struct Entry: Sendable {
        /// The number of attempts.
        package var count: Int64 = 0
        /// Until when the caller has to wait, on the clock of `now`.
        package var until = 0.0
        fileprivate var expires = 0.0

        package init(count: Int64 = 0, until: Double = 0) {
            self.count = count
            self.until = until
        }
    }

    /// Some 20 MB when it is full.
    private static let limit = 100_000
    private let start = ContinuousClock.now
    private var entries: [[UInt8]: Entry] = [:]

    package init() {}

    /// Milliseconds.
    package var now: Double { (ContinuousClock.now - start) / .milliseconds(1) }
    package var size: Int { entries.count }

    /// The entry of a key; an empty one when there is none, or it has expired.
    package subscript(_ key: String) -> Entry {
        guard let entry = entries[Array(key.utf8)], entry.expires > now else { return Entry() }
        return entry
    }

    /// - Parameter memory: milliseconds until it expires.
    package mutating func set(_ key: String, _ entry: Entry, memory: Double) {
        let bytes = Array(key.utf8)
        if entries[bytes] == nil, entries.count >= Self.limit { makeRoom() }
        var entry = entry
        entry.expires = now + memory
        entries[bytes] = entry
    }

    /// Changes an entry and keeps its time of expiry.
    package mutating func change(_ key: String, _ body: (inout Entry) -> Void) {
        let bytes = Array(key.utf8)
        if var entry = entries[bytes], entry.expires > now {
            body(&entry)
            entries[bytes] = entry
        }
    }

    package mutating func remove(_ key: String) { entries[Array(key.utf8)] = nil }

    /// Takes a call from several limits of so many calls a minute, a minute's worth of which may come at once.
    ///
    /// - Returns: the milliseconds to wait, and nothing is taken; 0 if the call is admitted.
    package mutating func spend(_ limits: [(key: String, perMinute: Int64)]) -> Int64 {
        let now = now
        // The moment at which the calls so far are paid off; it may be a minute ahead.
        let paid = limits.map { max(self[$0.key].until, now) + 60_000 / Double($0.perMinute) }
        let wait = (paid.max() ?? now) - now - 60_001
        if wait > 0 { return Int64(wait.rounded(.up)) }
        for (limit, until) in zip(limits, paid) { set(limit.key, Entry(until: until), memory: 120_000) }
        return 0
    }

    /// Removes the expired entries; if none has expired, the tenth that would expire first.
    private mutating func makeRoom() {
        let now = now
        entries = entries.filter { $0.value.expires > now }
        guard entries.count >= Self.limit else { return }
        let bound = entries.values.map(\.expires).sorted()[Self.limit / 10]
        entries = entries.filter { $0.value.expires > bound }
    }
}

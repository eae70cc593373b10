/// Counts in memory, as Redis would keep them: each expires. Their number is bounded.
struct LocalCounts: Sendable {
    struct Entry: Sendable {
        /// The number of attempts.
        var count: Int64 = 0
        /// Until when the caller has to wait, on the clock of `now`.
        var until = 0.0
        fileprivate var expires = 0.0

        init(count: Int64 = 0, until: Double = 0) {
            self.count = count
            self.until = until
        }
    }

    /// Some 20 MB when it is full.
    private static let limit = 100_000
    private static let start = ContinuousClock.now
    private var entries: [[UInt8]: Entry] = [:]

    /// Milliseconds.
    var now: Double { (ContinuousClock.now - Self.start) / .milliseconds(1) }
    var size: Int { entries.count }

    /// The entry of a key; an empty one when there is none, or it has expired.
    subscript(_ key: String) -> Entry {
        guard let entry = entries[Array(key.utf8)], entry.expires > now else { return Entry() }
        return entry
    }

    /// - Parameter memory: milliseconds until it expires.
    mutating func set(_ key: String, _ entry: Entry, memory: Double) {
        let bytes = Array(key.utf8)
        if entries[bytes] == nil, entries.count >= Self.limit { makeRoom() }
        var entry = entry
        entry.expires = now + memory
        entries[bytes] = entry
    }

    /// Changes an entry and keeps its time of expiry.
    mutating func change(_ key: String, _ body: (inout Entry) -> Void) {
        let bytes = Array(key.utf8)
        if var entry = entries[bytes], entry.expires > now {
            body(&entry)
            entries[bytes] = entry
        }
    }

    mutating func remove(_ key: String) { entries[Array(key.utf8)] = nil }

    /// Removes the expired entries; if none has expired, the tenth that would expire first.
    private mutating func makeRoom() {
        let now = now
        entries = entries.filter { $0.value.expires > now }
        guard entries.count >= Self.limit else { return }
        let bound = entries.values.map(\.expires).sorted()[Self.limit / 10]
        entries = entries.filter { $0.value.expires > bound }
    }
}

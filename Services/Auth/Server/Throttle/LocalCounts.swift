/// Counts in memory, as Redis would keep them: each is forgotten after a time. How many there are is bounded.
struct LocalCounts: Sendable {
    struct Entry: Sendable {
        /// How often.
        var count: Int64 = 0
        /// A moment, in milliseconds of `now`.
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

    /// What is counted there; nothing yet, or not any more, is an empty entry.
    subscript(_ key: String) -> Entry {
        guard let entry = entries[Array(key.utf8)], entry.expires > now else { return Entry() }
        return entry
    }

    /// - Parameter memory: for how many milliseconds it is remembered.
    mutating func set(_ key: String, _ entry: Entry, memory: Double) {
        let bytes = Array(key.utf8)
        if entries[bytes] == nil, entries.count >= Self.limit { makeRoom() }
        var entry = entry
        entry.expires = now + memory
        entries[bytes] = entry
    }

    /// Changes what is there, and not for how long.
    mutating func change(_ key: String, _ body: (inout Entry) -> Void) {
        let bytes = Array(key.utf8)
        if var entry = entries[bytes], entry.expires > now {
            body(&entry)
            entries[bytes] = entry
        }
    }

    mutating func remove(_ key: String) { entries[Array(key.utf8)] = nil }

    /// What has expired goes; if that isn't enough, the tenth that would expire first.
    private mutating func makeRoom() {
        let now = now
        entries = entries.filter { $0.value.expires > now }
        guard entries.count >= Self.limit else { return }
        let bound = entries.values.map(\.expires).sorted()[Self.limit / 10]
        entries = entries.filter { $0.value.expires > bound }
    }
}

import Texts

/// Which statements the server has prepared for a connection, by SQL and declared types.
struct StatementCache {
    struct Key: Hashable {
        @ExactText var sql: String
        var types: [UInt32]
    }

    /// How a statement is to be sent.
    enum Use {
        case prepared(name: String)
        /// Prepare it under the name, then run it; `evicted` is to be deallocated.
        case prepare(name: String, evicted: String?)
        /// Another group prepares it right now and may fail: run it unprepared.
        case unprepared
    }

    private struct Entry {
        var name: String
        var isReady: Bool
        /// The group that prepares it, until that is answered.
        var preparedBy: ObjectIdentifier?
        var lastUse: UInt64
    }

    private var entries: [Key: Entry] = [:]
    private var clock: UInt64 = 0
    private var names: UInt64 = 0
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    mutating func use(_ key: Key, by group: StatementGroup) -> Use {
        guard capacity > 0 else { return .unprepared }
        clock += 1
        if let index = entries.index(forKey: key) {
            let entry = entries.values[index]
            guard entry.isReady || entry.preparedBy == ObjectIdentifier(group) else { return .unprepared }
            entries.values[index].lastUse = clock
            return .prepared(name: entry.name)
        }
        var evicted: String?
        if entries.count >= capacity {
            guard let oldest = entries.filter({ $0.value.isReady }).min(by: { $0.value.lastUse < $1.value.lastUse })
            else {
                return .unprepared
            }
            entries[oldest.key] = nil
            evicted = oldest.value.name
        }
        names += 1
        let name = "p\(names)"
        entries[key] = Entry(name: name, isReady: false, preparedBy: ObjectIdentifier(group), lastUse: clock)
        return .prepare(name: name, evicted: evicted)
    }

    /// The server has answered the preparation.
    mutating func prepared(_ key: Key, successfully: Bool) {
        if successfully {
            entries[key]?.isReady = true
            entries[key]?.preparedBy = nil
        } else {
            entries[key] = nil
        }
    }

    /// The server no longer has it, or its plan is outdated. Returns the name that may be left there.
    mutating func forget(sql: String) -> [String] {
        let keys = entries.keys.filter { $0.sql.hasSameBytes(as: sql) && entries[$0]?.isReady == true }
        return keys.compactMap { entries.removeValue(forKey: $0)?.name }
    }
}

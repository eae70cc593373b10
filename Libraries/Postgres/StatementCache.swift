import Texts

/// The statements that the server has prepared for a connection, by SQL and declared types.
struct StatementCache {
    struct Key: Hashable {
        @ExactText var sql: String
        var types: [UInt32]
    }

    /// How to send a statement.
    enum Use {
        case prepared(name: String)
        /// Prepare it under the name, then run it; the statement `evicted` has to be deallocated.
        case prepare(name: String, evicted: String?)
        /// Run it unprepared, since nothing can be prepared now: for instance another group is preparing it, which may fail.
        case unprepared
    }

    private struct Entry {
        var name: String
        var isReady: Bool
        /// The group that prepares the statement, until the server has answered.
        var preparedBy: ObjectIdentifier?
        var lastUse: UInt64
    }

    private var entries: [Key: Entry] = [:]
    private var clock: UInt64 = 0
    private var names: UInt64 = 0
    private let capacity: Int
    /// What the names begin with. A pooler may give a connection the session of another one: then a statement must not be found there
    /// rather than be another one.
    private let prefix = "p" + String(UInt64.random(in: 0 ... .max), radix: 36) + "_"

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
        let name = "\(prefix)\(names)"
        entries[key] = Entry(name: name, isReady: false, preparedBy: ObjectIdentifier(group), lastUse: clock)
        return .prepare(name: name, evicted: evicted)
    }

    /// Records the server's answer to a preparation.
    mutating func prepared(_ key: Key, successfully: Bool) {
        if successfully {
            entries[key]?.isReady = true
            entries[key]?.preparedBy = nil
        } else {
            entries[key] = nil
        }
    }

    /// Drops a statement that the server no longer has, or whose plan is outdated. Returns the names that may still exist on the
    /// server.
    mutating func forget(sql: String) -> [String] {
        let keys = entries.keys.filter { $0.sql.hasSameBytes(as: sql) && entries[$0]?.isReady == true }
        return keys.compactMap { entries.removeValue(forKey: $0)?.name }
    }
}

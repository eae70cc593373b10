/// Statements that end with one Sync, and their answers. Accessed only on its connection's loop.
final class StatementGroup {
    /// Whether the statements are enclosed in BEGIN and COMMIT.
    let isTransaction: Bool
    /// Whether a transaction's BEGIN is sent with these statements.
    var hasBegin = false
    var statements: [PostgresStatement] = []
    var results: [Result<PostgresRows, PostgresError>] = []
    /// The first failure: of a statement, of a preparation, or at the commit.
    var failure: PostgresError?
    private var waiters: [UnsafeContinuation<Void, Never>] = []
    private(set) var isDone = false
    var isCancelled = false
    /// Whether the connection itself created the group (ROLLBACK, DEALLOCATE), so that no caller waits for it.
    var isInternal = false
    /// Whether statements of other callers may be sent behind it before it is answered.
    var isShared = false
    /// Prepared statements that have to be dropped when the group is done.
    var evicted: [String] = []

    init(isTransaction: Bool) { self.isTransaction = isTransaction }

    func fail(_ error: PostgresError, at index: Int?) {
        if failure != nil { return }
        var error = error
        error.statementIndex = index
        if let index, statements.indices.contains(index) { error.sql = statements[index].sql }
        failure = error
    }

    /// Adds a waiter, which is resumed when the group is answered, or at once if it is already.
    func add(_ waiter: UnsafeContinuation<Void, Never>) {
        if isDone { waiter.resume() } else { waiters.append(waiter) }
    }

    func resume() {
        isDone = true
        let waiters = self.waiters
        self.waiters = []
        for waiter in waiters { waiter.resume() }
    }
}

/// Everything that was sent and isn't answered yet, in order.
struct PendingQueue {
    enum Entry {
        case prepare(StatementCache.Key, StatementGroup)
        case statement(StatementGroup)
        case sync(StatementGroup)

        var group: StatementGroup {
            switch self {
            case .prepare(_, let group), .statement(let group), .sync(let group): group
            }
        }
    }

    private var entries: [Entry] = []
    private var head = 0
    /// When the group at the head got there, in the loop's milliseconds.
    private(set) var headSince: UInt64?

    var isEmpty: Bool { head == entries.count }
    var first: Entry? { isEmpty ? nil : entries[head] }
    var last: Entry? { isEmpty ? nil : entries[entries.count - 1] }

    mutating func append(_ entry: Entry, now: UInt64) {
        if isEmpty { headSince = now }
        entries.append(entry)
    }

    mutating func removeFirst(now: UInt64) {
        if case .sync = entries[head] { headSince = now }
        head += 1
        if head == entries.count {
            entries.removeAll(keepingCapacity: true)
            head = 0
            headSince = nil
        } else if head > 1024, head > entries.count / 2 {
            entries.removeFirst(head)
            head = 0
        }
    }

    /// The groups that aren't done, in order.
    mutating func removeAll() -> [StatementGroup] {
        var groups: [StatementGroup] = []
        for entry in entries[head...] where groups.last !== entry.group { groups.append(entry.group) }
        entries = []
        head = 0
        headSince = nil
        return groups
    }
}

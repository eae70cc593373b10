/// Statements that end with one Sync, and their answers. Touched on its connection's loop only.
final class StatementGroup {
    /// BEGIN … COMMIT is around the statements.
    let isTransaction: Bool
    /// A transaction's BEGIN, which goes with its first statements.
    var hasBegin = false
    var statements: [PostgresStatement] = []
    var results: [Result<PostgresRows, PostgresError>] = []
    /// The first failure: of a statement, of a preparation, or at the commit.
    var failure: PostgresError?
    private var waiters: [UnsafeContinuation<Void, Never>] = []
    private(set) var isDone = false
    var isCancelled = false
    /// Of the connection's own making (ROLLBACK, DEALLOCATE): nobody waits for it.
    var isInternal = false
    /// Prepared statements that are to be dropped when the group is done.
    var evicted: [String] = []

    init(isTransaction: Bool) { self.isTransaction = isTransaction }

    func fail(_ error: PostgresError, at index: Int?) {
        if failure != nil { return }
        var error = error
        error.statementIndex = index
        if let index, statements.indices.contains(index) { error.sql = statements[index].sql }
        failure = error
    }

    /// Resumes it when the group is answered, at once if it is.
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

/// What was sent and isn't answered, in order.
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
    /// When the group at the head came there, in the loop's milliseconds.
    private(set) var headSince: UInt64?

    var isEmpty: Bool { head == entries.count }
    var first: Entry? { isEmpty ? nil : entries[head] }

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

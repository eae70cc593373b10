import Postgres

/// Until when an operation may take (`maxTimeMS`). Postgres ends a statement that runs longer; what is done here looks at it between
/// documents.
struct TimeLimit: Sendable {
    private let deadline: ContinuousClock.Instant?

    /// - Parameter milliseconds: `nil` or 0: no limit but the server's own.
    init(_ milliseconds: Int?) {
        deadline = milliseconds.flatMap { $0 > 0 ? .now + .milliseconds($0) : nil }
    }

    /// - Throws: `DocumentStoreError` (`timeLimit`, MongoDB's 50) when it is over.
    func check() throws(DocumentStoreError) {
        if let deadline, ContinuousClock.now >= deadline {
            throw DocumentStoreError(.timeLimit, "operation exceeded time limit", mongoCode: 50)
        }
    }

    /// Ends the transaction's later statements at the limit; `nil` without one.
    var statement: PostgresStatement? {
        guard let deadline else { return nil }
        let left = max(deadline - ContinuousClock.now, .milliseconds(1)).milliseconds
        return PostgresStatement("select set_config('statement_timeout', $1, true)", [.text("\(left)ms")])
    }

    /// Gives a session's transaction its own limit back.
    static let end: PostgresStatement = "set local statement_timeout to default"
}

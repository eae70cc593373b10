import DocumentModel
import Postgres
import QueryLanguage

/// How long an operation may take (`maxTimeMS`). Postgres ends a statement that runs longer; the evaluation here checks the limit
/// between documents, and within long work on one of them.
package struct TimeLimit: Sendable {
    private let deadline: ContinuousClock.Instant?

    /// - Parameter milliseconds: `nil` or 0 for no limit except the server's own.
    package init(_ milliseconds: Int?) {
        deadline = milliseconds.flatMap { $0 > 0 ? .now + .milliseconds($0) : nil }
    }

    /// - Throws: `DocumentStoreError` (`timeLimit`, MongoDB's 50) when the limit is exceeded.
    func check() throws(DocumentStoreError) {
        if let deadline, ContinuousClock.now >= deadline {
            throw DocumentStoreError(.timeLimit, "operation exceeded time limit", mongoCode: 50)
        }
    }

    /// Runs work that evaluates filters, expressions or pipelines; if they exceed the limit, they end with MongoDB's 50.
    package func run<R>(_ body: () async throws -> R) async throws -> R {
        guard let deadline else { return try await body() }
        let outer = Interruption.current
        let interruption = Interruption {
            guard ContinuousClock.now >= deadline else { return outer?.check() }
            return QueryError(code: 50, message: "operation exceeded time limit")
        }
        return try await Interruption.$current.withValue(interruption, operation: body)
    }

    /// Whether there is no limit.
    var isNone: Bool { deadline == nil }

    /// The remaining time, for an operation within this one; `nil` without a limit.
    var milliseconds: Int? { deadline.map { Int(($0 - ContinuousClock.now).limitMilliseconds) } }

    /// Ends the transaction's later statements at the limit; `nil` without one.
    var statement: PostgresStatement? {
        milliseconds.map {
            PostgresStatement("select set_config('statement_timeout', $1, true)", [.text("\($0)ms")])
        }
    }

    /// Restores the session's own limit in its transaction.
    static let end: PostgresStatement = "set local statement_timeout to default"
}

import DocumentModel
import Postgres

extension DocumentStore {
    /// How often a transaction that lost a race is begun anew.
    private static let attempts = 8

    /// Runs `body` in one transaction: what it writes is committed together when it returns, and nothing of it when it throws.
    ///
    /// `body` may run several times, when another transaction was in the way.
    /// - Throws: what `body` throws; ``DocumentStoreError`` with code `conflict` when somebody else stayed in the way.
    public func transaction<R: Sendable>(
        app: String, _ body: @Sendable (DocumentSession) async throws -> R
    ) async throws -> R {
        let storage = try storage(of: app)
        var attempt = 1
        while true {
            do {
                return try await run(storage, body)
            } catch let error as PostgresError where error.isWorthAnotherAttempt {
                guard attempt < Self.attempts else {
                    throw DocumentStoreError(
                        .conflict, "somebody else wrote the same documents, again and again", mongoCode: 112, underlying: error)
                }
                try await Task.sleep(for: .milliseconds(Int.random(in: 1...(4 << attempt))))
                attempt += 1
            }
        }
    }

    private func run<R: Sendable>(
        _ storage: AppStorage, _ body: @Sendable (DocumentSession) async throws -> R
    ) async throws -> R {
        var replies: [PostgresReply] = []
        let (result, hasWritten): (R, Bool)
        do {
            (result, hasWritten) = try await client.withTransaction { transaction in
                let session = DocumentSession(store: self, storage: storage, transaction: transaction)
                let begin = PostgresStatement(CommitSQL.begin, [.text("\(Self.lockTimeout.milliseconds)ms")])
                _ = try await transaction.send(begin)
                let result = try await body(session)
                let plan = await session.end()
                if plan.isEmpty { return (result, false) }
                replies.append(try await transaction.send(plan.numbering))
                for statement in plan.statements() { replies.append(try await transaction.send(statement)) }
                return (result, true)
            }
        } catch {
            throw Self.named(await PostgresReply.cause(of: error, in: replies))
        }
        if hasWritten { committed(try await CommittedHead.all(from: replies[0]), app: storage.app) }
        return result
    }

    /// A unique index of the app's refuses for good; the primary key only lost a race, which shows at the next attempt.
    private static func named(_ error: any Error) -> any Error {
        guard let failure = error as? PostgresError, failure.isUniqueViolation, let constraint = failure.constraint,
            !constraint.hasSuffix("_pkey")
        else { return error }
        return DocumentStoreError(
            .duplicateKey, "E11000 duplicate key error, index: \(constraint)", mongoCode: 11000, underlying: failure)
    }
}

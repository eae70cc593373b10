import EventLoop
import Postgres

/// Excludes other deployments of an app, in all processes on the database.
///
/// The lock belongs to a connection, so that a process that is killed or cut off can't leave it behind: Postgres releases it when it finds
/// the connection closed, at most half a minute after the machine at its other end has vanished.
struct DeploymentLock: Sendable {
    private let app: String
    /// The process of Postgres that has the lock.
    private let holder: Int32

    /// The lock's number, made of `$1`, the app.
    private static let key = "hashtextextended('partita.deployment ' || $1, 0)"
    /// The row of the lock in `pg_locks`.
    private static let row = """
        l.locktype = 'advisory' and l.objsubid = 1 and l.granted
            and l.database = (select oid from pg_database where datname = current_database())
            and (l.classid::bigint << 32 | l.objid::bigint) = \(key)
        """

    /// Runs `body` while no other process deploys the app.
    ///
    /// - Parameters:
    ///   - operator: who deploys and where, for those who wait meanwhile.
    ///   - limit: how long to wait for another process; zero doesn't wait.
    ///   - waiting: called once, with the text that says who has the lock, when it isn't free.
    /// - Throws: `DeploymentError` with code `deploymentRunning` when the time is over.
    static func hold<R: Sendable>(
        _ app: String, as operator: String, on client: PostgresClient, waitingFor limit: Duration,
        waiting: @Sendable (String) -> Void, _ body: @Sendable (DeploymentLock) async throws -> R
    ) async throws -> R {
        try await client.withConnection { connection in
            _ = try await connection.query(
                """
                select set_config('application_name', left('deployment by ' || $1, 60), false),
                    set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
                    set_config('tcp_keepalives_count', '3', false)
                """, [.text(`operator`)])
            let result: Result<R, any Error>
            do {
                let lock = try await acquire(app, on: connection, limit, waiting)
                result = .success(try await body(lock))
            } catch {
                result = .failure(error)
            }
            // The connection goes back to the pool. If it is lost, so is the lock.
            try? await connection.runScript(
                """
                select pg_advisory_unlock_all(); reset application_name; reset tcp_keepalives_idle;
                reset tcp_keepalives_interval; reset tcp_keepalives_count
                """)
            return try result.get()
        }
    }

    private static func acquire(
        _ app: String, on connection: PostgresConnection, _ limit: Duration, _ waiting: (String) -> Void
    ) async throws -> DeploymentLock {
        let deadline = ContinuousClock.now + limit
        var isTold = false
        while true {
            // It polls: a statement that waits for the lock would hold a snapshot, for which building an index waits.
            let rows = try await connection.query(
                "select pg_try_advisory_lock(\(key)), pg_backend_pid()", [.text(app)]
            ).decode((Bool, Int32).self)
            if let (isFree, holder) = rows.first, isFree { return DeploymentLock(app: app, holder: holder) }
            let others = try await connection.query(
                """
                select a.application_name from pg_locks l join pg_stat_activity a on a.pid = l.pid where \(row)
                """, [.text(app)]
            ).decode(String.self)
            guard let other = others.first else { continue }  // it has just been released
            let text = "\(app) is being deployed: there is a \(other)"
            guard ContinuousClock.now < deadline else {
                throw DeploymentError(.deploymentRunning, "\(text); try again when it is done, or with a longer --wait")
            }
            if !isTold { waiting(text) }
            isTold = true
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Makes sure that the lock is still there, so that nothing is committed without it.
    /// - Parameter consequence: what is so without the transaction, and what to do.
    /// - Throws: `DeploymentError` with code `lockLost`.
    func check(
        in transaction: PostgresTransaction, consequence: String = "nothing was changed; deploy again"
    ) async throws {
        let rows = try await transaction.query(
            "select from pg_locks l where \(Self.row) and l.pid = $2", [.text(app), .int(Int64(holder))])
        guard !rows.isEmpty else {
            throw DeploymentError(
                .lockLost,
                "the connection to Postgres that excludes other deployments of \(app) was lost: \(consequence)"
            )
        }
    }

    /// Whether some process deploys an app.
    static func isHeld(_ app: String, on client: PostgresClient) async throws -> Bool {
        try await !client.query("select from pg_locks l where \(row)", [.text(app)]).isEmpty
    }
}

import Postgres

/// Excludes other restores of a database, from the first look at it until the topics are empty: two would take the same epoch, and each
/// would drop what the other has made.
///
/// The lock belongs to a connection, so that Postgres releases it when this process ends.
struct RestoreLock: Sendable {
    /// The process of Postgres that has the lock.
    private let holder: Int32

    private static let key = "hashtextextended('partita.restore', 0)"
    /// The row of the lock in `pg_locks`.
    private static let row = """
        l.locktype = 'advisory' and l.objsubid = 1 and l.granted
            and l.database = (select oid from pg_database where datname = current_database())
            and (l.classid::bigint << 32 | l.objid::bigint) = \(key)
        """

    /// Runs `body` while no other process restores the database.
    /// - Throws: `ToolError` that says who does; and what `body` throws.
    static func hold<R: Sendable>(
        on client: PostgresClient, _ body: @Sendable (RestoreLock) async throws -> R
    ) async throws -> R {
        try await client.withConnection { connection in
            _ = try await connection.query(
                "select set_config('application_name', left('restore by ' || $1, 60), false)", [.text(Tool.operator)])
            let result: Result<R, any Error>
            do {
                let lock = try await acquire(on: connection)
                result = .success(try await body(lock))
            } catch {
                result = .failure(error)
            }
            // The connection goes back to the pool. If it is lost, so is the lock.
            try? await connection.runScript("select pg_advisory_unlock_all(); reset application_name")
            return try result.get()
        }
    }

    private static func acquire(on connection: PostgresConnection) async throws -> RestoreLock {
        let rows = try await connection.query("select pg_try_advisory_lock(\(key)), pg_backend_pid()").decode(
            (Bool, Int32).self)
        if let (isFree, holder) = rows.first, isFree { return RestoreLock(holder: holder) }
        let others = try await connection.query(
            "select a.application_name from pg_locks l join pg_stat_activity a on a.pid = l.pid where \(row)"
        ).decode(String.self)
        throw ToolError(
            "another restore of this database is running: there is a \(others.first ?? "restore"). Wait until it has ended"
        )
    }

    /// SQL that fails unless the lock is still there, so that nothing is committed without it.
    var check: String {
        """
        do $$ begin
            if not exists (select from pg_locks l where \(Self.row) and l.pid = \(holder)) then
                raise exception 'the connection that excludes other restores was lost: nothing has changed, restore again';
            end if;
        end $$;
        """
    }
}

import Postgres

/// Excludes other restores of a database, from the first look at it until the topics are empty: two would take the same epoch, and each
/// would drop what the other has made. Backups share the lock: one that sees the schemas before a restore would find nothing in them
/// after it.
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

    /// Runs `body` while no other process restores the database, or makes a backup of it.
    /// - Throws: `ToolError` that says who does; and what `body` throws.
    static func hold<R: Sendable>(
        on client: PostgresClient, _ body: @Sendable (RestoreLock) async throws -> R
    ) async throws -> R {
        try await hold(on: client, as: .restore, body)
    }

    /// Runs `body` while no process restores the database.
    /// - Throws: `ToolError` that says who does; and what `body` throws.
    static func share<R: Sendable>(on client: PostgresClient, _ body: @Sendable () async throws -> R) async throws -> R
    {
        try await hold(on: client, as: .backup) { _ in try await body() }
    }

    private enum Work: String {
        case restore, backup

        /// The function that takes the lock for it.
        var function: String { self == .restore ? "pg_try_advisory_lock" : "pg_try_advisory_lock_shared" }
    }

    private static func hold<R: Sendable>(
        on client: PostgresClient, as work: Work, _ body: @Sendable (RestoreLock) async throws -> R
    ) async throws -> R {
        try await client.withConnection { connection in
            _ = try await connection.query(
                "select set_config('application_name', left($1 || ' by ' || $2, 60), false)",
                [.text(work.rawValue), .text(Tool.operator)])
            let result: Result<R, any Error>
            do {
                let lock = try await acquire(for: work, on: connection)
                result = .success(try await body(lock))
            } catch {
                result = .failure(error)
            }
            // The connection goes back to the pool. If it is lost, so is the lock.
            try? await connection.runScript("select pg_advisory_unlock_all(); reset application_name")
            return try result.get()
        }
    }

    private static func acquire(for work: Work, on connection: PostgresConnection) async throws -> RestoreLock {
        let rows = try await connection.query("select \(work.function)(\(key)), pg_backend_pid()").decode(
            (Bool, Int32).self)
        if let (isFree, holder) = rows.first, isFree { return RestoreLock(holder: holder) }
        let others = try await connection.query(
            "select a.application_name from pg_locks l join pg_stat_activity a on a.pid = l.pid where \(row)"
        ).decode(String.self)
        let other = others.first ?? Work.restore.rawValue
        if work == .restore, other.hasPrefix(Work.backup.rawValue) {
            throw ToolError(
                "BackupRunning: a backup of this database is being made: there is a \(other). Nothing has changed; wait until it has ended"
            )
        }
        let what = work == .restore ? "another restore of this database is running" : "this database is being restored"
        throw ToolError("RestoreRunning: \(what): there is a \(other). Wait until it has ended")
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

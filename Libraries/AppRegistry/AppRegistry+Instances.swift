import DocumentModel
import Postgres

extension AppRegistry {
    /// A process of a service that works with another version of an app than the one that was asked for.
    public struct LateInstance: Sendable {
        /// Its name: that of the service and an id (`sync-gateway-1f2e3d4c`).
        public let name: String
        /// The version that it has; 0 when it hasn't loaded the app.
        public let version: Int64
    }

    /// The running processes that don't have a version of an app yet, or have the app although it was removed.
    ///
    /// A process is running while it is connected to Postgres; one that hasn't loaded any app yet will load the newest versions.
    /// - Parameter version: the version that they should have; `nil` when they should have none.
    public func instances(of app: String, before version: Int64?) async throws -> [LateInstance] {
        try await client.query(
            """
            SELECT i.instance, coalesce(v.version, 0) FROM partita.app_instances i
            LEFT JOIN partita.app_instances v ON v.instance = i.instance AND v.app = $1
            WHERE i.app = ''
                AND CASE WHEN $2::bigint IS NULL THEN v.version IS NOT NULL ELSE coalesce(v.version, 0) < $2::bigint END
                AND EXISTS (SELECT FROM pg_stat_activity s WHERE s.application_name = i.instance)
            ORDER BY i.instance
            """, [.text(app), PostgresValue(version)]
        ).decode((String, Int64).self).map { LateInstance(name: $0.0, version: $0.1) }
    }

    /// How many running processes have a version of an app, or a later one.
    public func instanceCount(of app: String, with version: Int64) async throws -> Int {
        Int(
            try await client.query(
                """
                SELECT count(*) FROM partita.app_instances i
                WHERE i.app = $1 AND i.version >= $2
                    AND EXISTS (SELECT FROM pg_stat_activity s WHERE s.application_name = i.instance)
                """, [.text(app), .int(version)]
            ).decode(Int64.self).first ?? 0)
    }

    /// Records which versions a process has, and forgets what processes had that are gone. A row without an app says that the process
    /// has loaded the apps that there are.
    func report(_ instance: String, has versions: [ExactText: Int64], hasNot gone: [ExactText]) async throws {
        let sorted = [(key: ExactText(""), value: 0)] + versions.sorted { $0.key < $1.key }
        try await client.withTransaction { transaction in
            try await transaction.execute(
                """
                INSERT INTO partita.app_instances (app, instance, version)
                SELECT app, $1, version FROM unnest($2::text[], $3::bigint[]) v(app, version)
                ON CONFLICT (app, instance) DO UPDATE SET version = excluded.version, loaded_at = now()
                """,
                [.text(instance), .textArray(sorted.map(\.key.text)), .int8Array(sorted.map(\.value))])
            // Rows of a process that has only just started may be older than its connections: a minute tells them apart.
            try await transaction.execute(
                """
                DELETE FROM partita.app_instances i
                WHERE i.instance = $1 AND i.app = any($2::text[])
                    OR i.loaded_at < now() - interval '1 minute'
                        AND NOT EXISTS (SELECT FROM pg_stat_activity s WHERE s.application_name = i.instance)
                """, [.text(instance), .textArray(gone.map(\.text))])
        }
    }
}

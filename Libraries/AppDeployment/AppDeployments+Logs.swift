public import DocumentModel
import Postgres

extension AppDeployments {
    /// What an app's functions wrote to their console, and their failures: the last lines, in order.
    ///
    /// - Parameter moment: only lines before it, as a line's `moment` says; microseconds since 1970.
    /// - Throws: `DeploymentError` with code `appUnknown`.
    public func functionLogs(of app: String, before moment: Int64?, limit: Int) async throws -> [Document] {
        try await deployedVersion(of: app)
        guard try await hasTable("function_logs") else { return [] }
        let rows = try await client.query(
            """
            select to_char(at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS.MS'), level,
                function || coalesce(':' || line, ''), trigger, message, (extract(epoch from at) * 1000000)::bigint
            from (
                select * from partita.function_logs
                where app = $1 and ($2::bigint is null or at < 'epoch'::timestamptz + $2 * interval '1 microsecond')
                order by at desc limit $3
            ) l order by at
            """, [.text(app), PostgresValue(moment), .int(Int64(limit))])
        let decoded = try rows.decode((String, String, String, String?, String, Int64).self)
        return decoded.map { row -> Document in
            [
                "at": .string(row.0), "level": .string(row.1), "function": .string(row.2),
                "trigger": row.3.map { .string($0) } ?? .null, "message": .string(row.4), "moment": .int64(row.5),
            ]
        }
    }
}

import Postgres

/// How many rows of a table each app may have: the latest ones stay. What one app has too many is deleted, and costs no other app any.
struct AppShares: Sendable {
    let client: PostgresClient
    /// A table with a column `app`.
    let table: String
    /// The column by which the latest rows are found; an index has it after `app`.
    let order: String
    /// Which rows are counted.
    var condition = "true"

    /// Deletes the oldest rows of each app that has more, by statements that each take a short time.
    /// - Returns: how many were deleted, of the apps that had more.
    @discardableResult
    func deleteBeyond(_ limit: Int) async throws -> [(app: String, rows: Int)] {
        var deleted: [(app: String, rows: Int)] = []
        for app in try await apps() {
            let rows = try await client.deleteOldest(
                from: table, by: order,
                where: """
                    app = $1 and \(condition) and \(order) <= (
                        select \(order) from \(table) where app = $1 and \(condition) order by \(order) desc offset $2 limit 1)
                    """,
                [.text(app), .int(Int64(limit))])
            if rows > 0 { deleted.append((app, rows)) }
        }
        return deleted
    }

    /// The apps that have rows: one step in the index for each, instead of a look at all rows.
    private func apps() async throws -> [String] {
        try await client.query(
            """
            with recursive apps as (
                (select app from \(table) where \(condition) order by app limit 1)
                union all
                select (select t.app from \(table) t where t.app > a.app and \(condition) order by t.app limit 1)
                from apps a where a.app is not null)
            select app from apps where app is not null
            """
        ).decode(String.self)
    }
}

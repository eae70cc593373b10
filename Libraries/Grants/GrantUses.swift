import DocumentModel
import EventTopics
import Postgres

/// `partita.grants.used_on`: the days on which services served by grants, within a week. Permissions ends grants that nobody has used
/// for long.
enum GrantUses {
    /// After how many days the use of a grant is written down again.
    static let days = 7
    /// After how many days it is written down before anybody is served by the grant, which might be ended otherwise.
    static let urgentDays = 80
    /// The number of grants in a statement.
    private static let batch = 1000

    /// Writes down that the grants of these holders are used today, where the last known use is older than a week.
    /// - Parameter waits: Whether it waits for grants that others have locked; otherwise they are left out.
    static func write(_ holders: [GrantHolder], to client: PostgresClient, waits: Bool) async throws {
        for start in stride(from: 0, to: holders.count, by: batch) {
            let batch = holders[start..<min(start + batch, holders.count)]
            // Grants are locked in the order of their keys, as `partita.require_write` does.
            try await client.execute(
                """
                with used as materialized (
                    select g.app, g.partition, g.user_id from partita.grants g
                    where (g.app, g.partition, g.user_id) in (select * from unnest($1::text[], $2::text[], $3::text[]))
                        and g.used_on < current_date - \(days)
                    order by g.app, g.partition, g.user_id for no key update \(waits ? "" : "skip locked")
                )
                update partita.grants g set used_on = current_date from used u
                where g.app = u.app and g.partition = u.partition and g.user_id = u.user_id
                """, GrantHolder.columns(batch))
        }
    }
}

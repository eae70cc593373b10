import DocumentModel
import EventTopics
import Postgres
import SyncEngine

/// The grant that applies to a user in a partition.
struct PresentGrant: Sendable {
    let grant: Grant
    /// Whether the app has other rules, or other secrets, than those that it was decided with.
    let isOutdated: Bool
}

/// A user and a partition.
struct GrantHolder: Hashable, Sendable {
    @ExactText private(set) var app: String
    @ExactText private(set) var user: String
    let partition: Partition

    /// The grants that apply now; who has none is missing. Of those that were nearly unused for so long that they end it is written down before
    /// that they are used, so none ends while somebody is served by it.
    /// - Parameter stale: receives those whose use has to be written down soon.
    static func grants(
        of holders: [GrantHolder], from client: PostgresClient, stale: ([GrantHolder]) -> Void
    ) async throws -> [GrantHolder: PresentGrant] {
        let (present, unused) = try await read(holders, from: client)
        if unused.isEmpty { return present }
        let urgent = unused.filter { $0.days > GrantUses.urgentDays }.map(\.holder)
        stale(unused.filter { $0.days <= GrantUses.urgentDays }.map(\.holder))
        if urgent.isEmpty { return present }
        try await GrantUses.write(urgent, to: client, waits: true)
        // A grant may have ended just before its use was written down.
        return try await read(holders, from: client).present
    }

    /// - Returns: the grants, and who holds those whose use has to be written down again: the users, or all; and how long ago their last known
    ///   use is.
    private static func read(
        _ holders: [GrantHolder], from client: PostgresClient
    ) async throws -> (present: [GrantHolder: PresentGrant], unused: [(holder: GrantHolder, days: Int)]) {
        let rows = try await client.query(
            """
            select w.place, g.user_id, g.access, g.epoch, g.version, (extract(epoch from g.expires_at) * 1000)::bigint,
                exists (
                    select from partita.apps a
                    where a.id = w.app and not a.is_removed and (g.rules <> a.version or g.secrets <> a.secrets_version)),
                current_date - g.used_on
            from unnest($1::text[], $2::text[], $3::text[]) with ordinality w(app, partition, user_id, place)
            cross join lateral partita.standing_grant(w.app, w.partition, w.user_id) g
            """, columns(holders[...]))
        var present: [GrantHolder: PresentGrant] = [:]
        var unused: [(holder: GrantHolder, days: Int)] = []
        for row in rows {
            let (place, user, access, epoch, version, expires, isOutdated, days) =
                try row.decode((Int, String, String, Int32, Int64, Int64?, Bool, Int32).self)
            let holder = holders[place - 1]
            let grant = Grant(
                app: holder.app, user: user, partition: holder.partition,
                access: Grant.Access(rawValue: access) ?? .none,
                version: Revision(epoch: epoch, number: version), reason: "", expires: expires, time: 0)
            present[holder] = PresentGrant(grant: grant, isOutdated: isOutdated)
            if days > GrantUses.days {
                unused.append((GrantHolder(app: holder.app, user: user, partition: holder.partition), Int(days)))
            }
        }
        return (present, unused)
    }

    /// The apps, the partitions and the users of holders.
    static func columns(_ holders: ArraySlice<GrantHolder>) -> [PostgresValue] {
        [
            .textArray(holders.map(\.app)), .textArray(holders.map(\.partition.text)), .textArray(holders.map(\.user)),
        ]
    }
}

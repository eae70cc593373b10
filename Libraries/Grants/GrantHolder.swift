import DocumentModel
import EventTopics
import Postgres
import SyncEngine

/// A user and a partition.
struct GrantHolder: Hashable, Sendable {
    @ExactText private(set) var app: String
    @ExactText private(set) var user: String
    let partition: Partition

    /// The grants that apply now, in one round trip; who has none is missing.
    static func grants(of holders: [GrantHolder], from client: PostgresClient) async throws -> [GrantHolder: Grant] {
        let rows = try await client.query(
            """
            select w.place, g.user_id, g.access, g.epoch, g.version, (extract(epoch from g.expires_at) * 1000)::bigint
            from unnest($1::text[], $2::text[], $3::text[]) with ordinality w(app, partition, user_id, place)
            cross join lateral partita.standing_grant(w.app, w.partition, w.user_id) g
            """,
            [
                .textArray(holders.map(\.app)), .textArray(holders.map(\.partition.text)),
                .textArray(holders.map(\.user)),
            ])
        var grants: [GrantHolder: Grant] = [:]
        for row in rows {
            let (place, user, access, epoch, version, expires) =
                try row.decode((Int, String, String, Int32, Int64, Int64?).self)
            let holder = holders[place - 1]
            grants[holder] = Grant(
                app: holder.app, user: user, partition: holder.partition,
                access: Grant.Access(rawValue: access) ?? .none,
                version: Revision(epoch: epoch, number: version), reason: "", expires: expires, time: 0)
        }
        return grants
    }
}

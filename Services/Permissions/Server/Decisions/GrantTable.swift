import DocumentModel
import EventTopics
import Foundation
import Postgres

/// `partita.grants`: the decisions as they stand.
struct GrantTable: Sendable {
    let client: PostgresClient

    /// Seconds that an answer holds which depended on something that can't be watched.
    static let untrackedLifetime = 5

    /// Why who is shut out gets nothing.
    static let shutOutReason = "the account is deleted or disabled"

    /// The grant on which a decision was made.
    enum Basis {
        case whatever
        /// The version; `nil` for none.
        case version(Revision?)
    }

    /// Commits a decision, under the partition's lock: an upload that is being committed comes before it as a whole, or is checked
    /// against it. The row of the outbox makes sure that the topic gets it. Who is shut out gets nothing, whatever was decided.
    ///
    /// - Parameter basis: what the grant must still be.
    /// - Returns: `nil` when another decision has come before this one, which is to be made again.
    func commit(_ verdict: Verdict, on subject: Subject, basis: Basis) async throws -> Grant? {
        let pair: [PostgresValue] = [.text(subject.app), .text(subject.partition.text), .text(subject.user)]
        let basis: [PostgresValue] =
            switch basis {
            case .whatever: [.bool(true), PostgresValue(nil as Int64?), PostgresValue(nil as Int64?)]
            case .version(let version):
                [.bool(false), PostgresValue(version.map { Int64($0.epoch) }), PostgresValue(version?.number)]
            }
        return try await client.withTransaction { transaction in
            _ = try await transaction.query(
                "select from partita.partitions where app = $1 and partition = $2 for update", Array(pair.prefix(2)))
            let rows = try await transaction.query(
                """
                with before as (select access from partita.grants where app = $1 and partition = $2 and user_id = $3)
                insert into partita.grants as g (app, partition, user_id, access, epoch, version, reason, expires_at)
                select $1, $2, $3, case when is_shut_out then 'none' else $4 end, partita.current_epoch(), 1,
                    to_json(case when is_shut_out then '\(Self.shutOutReason)' else $5::text end),
                    case when $6 then clock_timestamp() + make_interval(secs => \(Self.untrackedLifetime)) end
                from (select exists (select from partita.shut_out_users where app = $1 and user_id = $3) as is_shut_out) users
                on conflict (app, partition, user_id) do update set
                    access = excluded.access, epoch = excluded.epoch, reason = excluded.reason, decided_at = clock_timestamp(),
                    version = case when g.epoch = excluded.epoch then g.version + 1 else 1 end, expires_at = excluded.expires_at
                where $7 or (g.epoch::bigint = $8::bigint and g.version = $9::bigint)
                returning access, epoch, version, reason #>> '{}' as reason,
                    (extract(epoch from expires_at) * 1000)::bigint as expires,
                    access = 'none' and coalesce((select b.access <> 'none' from before b), false) as fence
                """,
                pair + [.text(verdict.access.rawValue), .legible(verdict.reason), .bool(verdict.isUntracked)] + basis)
            guard let row = rows.first else { return nil }
            let grant = try Self.grant(row, of: subject)
            if grant.isFence { try await FenceTable.add(grant, in: transaction) }
            _ = try await transaction.query(
                "insert into partita.grant_outbox (app, partition, user_id) values ($1, $2, $3) on conflict do nothing",
                pair)
            return grant
        }
    }

    func grant(of subject: Subject) async throws -> Grant? {
        try await client.query(
            """
            select access, epoch, version, reason #>> '{}' as reason, (extract(epoch from expires_at) * 1000)::bigint as expires,
                false as fence
            from partita.grants where app = $1 and partition = $2 and user_id = $3
            """, [.text(subject.app), .text(subject.partition.text), .text(subject.user)]
        ).first.map { try Self.grant($0, of: subject) }
    }

    /// Everybody who has an answer in an app or waits for one, or one user's.
    func subjects(app: String, user: String? = nil) async throws -> [Subject] {
        let rows = try await client.query(
            """
            select user_id, partition from partita.grants where app = $1 and ($2::text is null or user_id = $2) union
            select user_id, partition from partita.grant_subjects where app = $1 and ($2::text is null or user_id = $2)
            """, [.text(app), PostgresValue(user)])
        return try rows.map { row in
            let (user, partition) = try row.decode((String, String).self)
            return Subject(app: app, user: user, partition: Partition(text: partition))
        }
    }

    /// Forgets what is known of a user who is gone, so that later changes don't ask in the user's name.
    func forgetClaims(app: String, user: String) async throws {
        try await client.execute(
            "delete from partita.grant_subjects where app = $1 and user_id = $2", [.text(app), .text(user)])
    }

    // MARK: The outbox

    /// Grants that the topic may not have.
    func unpublished(limit: Int) async throws -> [Grant] {
        let rows = try await client.query(
            """
            select g.access, g.epoch, g.version, g.reason #>> '{}' as reason,
                (extract(epoch from g.expires_at) * 1000)::bigint as expires,
                g.access = 'none' and exists (
                    select from partita.fences f where (f.app, f.partition, f.user_id) = (g.app, g.partition, g.user_id)
                ) as fence, g.app, g.user_id, g.partition
            from partita.grant_outbox o join partita.grants g using (app, partition, user_id) limit $1
            """, [.int(Int64(limit))])
        return try rows.map { row in
            let subject = Subject(
                app: try row.decode("app"), user: try row.decode("user_id"),
                partition: Partition(text: try row.decode("partition")))
            return try Self.grant(row, of: subject)
        }
    }

    /// The topic has these versions; a later one stays in the outbox.
    func published(_ grants: [Grant]) async throws {
        try await client.execute(
            """
            delete from partita.grant_outbox o using partita.grants g,
                unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) p(app, partition, user_id, epoch, version)
            where o.app = p.app and o.partition = p.partition and o.user_id = p.user_id
                and g.app = p.app and g.partition = p.partition and g.user_id = p.user_id
                and g.epoch = p.epoch and g.version = p.version
            """,
            [
                .textArray(grants.map(\.app)), .textArray(grants.map(\.partition.text)), .textArray(grants.map(\.user)),
                .int8Array(grants.map { Int64($0.version.epoch) }), .int8Array(grants.map(\.version.number)),
            ])
    }

    private static func grant(_ row: PostgresRow, of subject: Subject) throws -> Grant {
        let (access, epoch, version, reason, expires, isFence) = try row.decode(
            (String, Int32, Int64, String?, Int64?, Bool).self)
        return Grant(
            app: subject.app, user: subject.user, partition: subject.partition,
            access: Grant.Access(rawValue: access) ?? .none,
            version: Revision(epoch: epoch, number: version), reason: reason ?? "", expires: expires,
            isFence: isFence, time: Int64(Date().timeIntervalSince1970 * 1000))
    }
}

import DocumentModel
import EventTopics
import Grants
import Postgres

/// `partita.fences`: revocations until their receipt. `partita.commit_grant` adds them.
package struct FenceTable: Sendable {
    let client: PostgresClient

    package init(client: PostgresClient) { self.client = client }

    /// Records that these grants were published: from now on gateways receive them, and later heartbeats follow them in the topic.
    /// A revocation that was replaced by a grant before it was published is dropped.
    package func published(_ grants: [Grant]) async throws {
        let replacing = grants.filter { $0.access != .none && $0.version.number > 1 }
        if !replacing.isEmpty {
            try await client.execute(
                """
                delete from partita.fences f using \(PublishedGrants.rows)
                where (f.app, f.partition, f.user_id) = (p.app, p.partition, p.user_id)
                    and f.published_at is null and (f.epoch, f.version) < (p.epoch, p.version)
                """, PublishedGrants.values(replacing))
        }
        let fences = grants.filter(\.isFence)
        if fences.isEmpty { return }
        try await client.execute(
            """
            update partita.fences f set published_at = clock_timestamp(),
                gateways = coalesce((
                    select array_agg(gateway) from partita.gateways
                    where seen_at > clock_timestamp() - make_interval(secs => \(GatewayRegistry.memory.components.seconds))
                ), '{}')
            from \(PublishedGrants.rows)
            where (f.app, f.partition, f.user_id) = (p.app, p.partition, p.user_id)
                and f.published_at is null and (f.epoch, f.version) <= (p.epoch, p.version)
            """, PublishedGrants.values(fences))
    }

    /// Records that a gateway has stopped serving a pair.
    package func answered(_ ack: FenceAck) async throws {
        try await client.execute(
            """
            update partita.fences set answered = array_append(array_remove(answered, $6), $6)
            where app = $1 and partition = $2 and user_id = $3 and (epoch, version) <= ($4, $5)
            """,
            [
                .text(ack.app), .text(ack.partition.text), .text(ack.user), .int(Int64(ack.version.epoch)),
                .int(ack.version.number), .text(ack.gateway),
            ])
    }

    /// The receipts of revocations that every gateway has acknowledged, or that were published so long ago that the leases of the
    /// others have expired.
    package func completed(leaseTime: Duration) async throws -> [RevocationReceipt] {
        let rows = try await client.query(
            """
            select app, user_id, partition, epoch, version,
                array(select unnest(answered) order by 1), array(select unnest(gateways) except select unnest(answered) order by 1)
            from partita.fences
            where published_at is not null
                and (gateways <@ answered or published_at < clock_timestamp() - make_interval(secs => $1))
            """, [.double(leaseTime / .seconds(1))])
        let time = WallClock.system.now()
        return try rows.map { row in
            let (app, user, partition, epoch, version) = try row.decode((String, String, String, Int32, Int64).self)
            return RevocationReceipt(
                app: app, user: user, partition: Partition(text: partition),
                version: Revision(epoch: epoch, number: version), answered: try row.decode(5, as: [String].self),
                lapsed: try row.decode(6, as: [String].self), time: time)
        }
    }

    /// The time until the leases expire of the gateways that haven't acknowledged the oldest revocation; `nil` when there is none.
    func nextLapse(leaseTime: Duration) async throws -> Duration? {
        let rows = try await client.query(
            """
            select extract(epoch from min(published_at) + make_interval(secs => $1) - clock_timestamp())::float8
            from partita.fences where published_at is not null
            """, [.double(leaseTime / .seconds(1))])
        // Rounded up, so that the leases have expired by then.
        return try rows.first?.decode(0, as: Double?.self).map { .seconds(max($0, 0)) + .milliseconds(5) }
    }

    /// Removes a revocation whose receipt was published.
    package func close(_ receipt: RevocationReceipt) async throws {
        try await client.execute(
            """
            delete from partita.fences
            where app = $1 and partition = $2 and user_id = $3 and epoch = $4 and version = $5
            """,
            [
                .text(receipt.app), .text(receipt.partition.text), .text(receipt.user),
                .int(Int64(receipt.version.epoch)), .int(receipt.version.number),
            ])
    }
}

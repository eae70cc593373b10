import DocumentModel
import EventTopics
import Lifecycle
import Logging
import Postgres

/// Removes rows that are no longer needed: grants without access, once their revocation has its receipt, and the subjects of
/// questions whose process ended during the decision.
struct GrantCleaner: Service {
    let client: PostgresClient
    let relay: GrantRelay
    let logger: Logger

    /// How old such a row has to be.
    static let age = Duration.seconds(600)
    private static let interval = Duration.seconds(10)
    /// The number of rows per query.
    private static let batch = 500

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            while !Task.isCancelled {
                do {
                    while try await clean(olderThan: Self.age) == Self.batch {}
                } catch {
                    logger.debug("old answers can't be removed now", metadata: ["error": "\(error)"])
                }
                try await Task.sleep(for: Self.interval)
            }
        }
    }

    /// - Returns: the number of removed rows, at most a batch.
    func clean(olderThan age: Duration) async throws -> Int {
        let rows = try await client.query(
            """
            (select g.app, g.user_id, g.partition, true from partita.grants g
                where g.access = 'none' and g.decided_at < clock_timestamp() - make_interval(secs => $1)
                    and not exists (
                        select from partita.fences f where (f.app, f.partition, f.user_id) = (g.app, g.partition, g.user_id))
                    and not exists (
                        select from partita.grant_outbox o
                        where (o.app, o.partition, o.user_id) = (g.app, g.partition, g.user_id))
                limit $2)
            union all
            (select s.app, s.user_id, s.partition, false from partita.grant_subjects s
                where not s.is_decided and s.asked_at < clock_timestamp() - make_interval(secs => $1)
                    and not exists (
                        select from partita.grants g where (g.app, g.partition, g.user_id) = (s.app, s.partition, s.user_id))
                limit $2)
            limit $2
            """, [.double(age / .seconds(1)), .int(Int64(Self.batch))])
        let grants = GrantTable(client: client)
        var removed: [Subject] = []
        for row in rows {
            let (app, user, partition, isGrant) = try row.decode((String, String, String, Bool).self)
            let subject = Subject(app: app, user: user, partition: Partition(text: partition))
            if isGrant {
                // From the topic first: a row that was deleted from the table isn't found again.
                try await relay.remove([subject])
                try await grants.removeNone(subject, olderThan: age)
            }
            _ = try await grants.forget(subject)
            removed.append(subject)
        }
        return removed.count
    }
}

import DocumentModel
import EventTopics
import Lifecycle
import Logging
import Postgres

/// Removes rows that are no longer needed: grants without access, once their revocation has its receipt, grants that nobody has used for
/// long, and the subjects of questions whose process ended during the decision.
struct GrantCleaner: Service {
    let client: PostgresClient
    let relay: GrantRelay
    let logger: Logger

    /// How old a grant without access has to be, and a question without an answer.
    private static let age = Duration.seconds(600)
    /// For how many days nobody has used a grant with access. Services write its use down every week (`GrantUses`), so no device has the partition
    /// open.
    private static let unusedDays = 90
    private static let interval = Duration.seconds(10)
    /// The number of rows per query.
    private static let batch = 500

    private var grants: GrantTable { GrantTable(client: client) }
    private static let needless: [PostgresValue] = [.double(age / .seconds(1)), .int(Int64(unusedDays))]

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            while !Task.isCancelled {
                do {
                    while try await removeGrants() == Self.batch {}
                    while try await forgetQuestions() == Self.batch {}
                    while try await cleanTopic() == Self.batch {}
                } catch {
                    logger.debug("old answers can't be removed now", metadata: ["error": "\(error)"])
                }
                try await Task.sleep(for: Self.interval)
            }
        }
    }

    /// - Returns: the number of removed grants, at most a batch.
    private func removeGrants() async throws -> Int {
        let subjects = try await subjects(
            """
            select g.app, g.user_id, g.partition from partita.grants g where \(GrantTable.needless)
            limit \(Self.batch)
            """, Self.needless)
        var count = 0
        for subject in subjects where try await grants.remove(subject, needless: Self.needless) { count += 1 }
        return count
    }

    /// - Returns: the number of removed subjects, at most a batch.
    private func forgetQuestions() async throws -> Int {
        let subjects = try await subjects(
            """
            select s.app, s.user_id, s.partition from partita.grant_subjects s
            where not s.is_decided and s.asked_at < clock_timestamp() - make_interval(secs => $1)
                and not exists (
                    select from partita.grants g where (g.app, g.partition, g.user_id) = (s.app, s.partition, s.user_id))
            limit \(Self.batch)
            """, [.double(Self.age / .seconds(1))])
        var count = 0
        for subject in subjects where try await grants.forget(subject) { count += 1 }
        return count
    }

    /// - Returns: the number of grants that were removed from the topic, at most a batch.
    private func cleanTopic() async throws -> Int {
        let removed = try await grants.removed(limit: Self.batch)
        for grant in removed {
            try await relay.remove(grant.subject)
            try await grants.removedFromTopic(grant)
        }
        return removed.count
    }

    private func subjects(_ query: String, _ values: [PostgresValue]) async throws -> [Subject] {
        try await client.query(query, values).map { row in
            let (app, user, partition) = try row.decode((String, String, String).self)
            return Subject(app: app, user: user, partition: Partition(text: partition))
        }
    }
}

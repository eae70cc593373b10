import DocumentModel
import EventTopics
import Lifecycle
import Logging
import Postgres

/// Removes rows that are no longer needed: grants without access, once their revocation has its receipt, and the subjects of questions
/// whose process ended during the decision. Ends grants that nobody has used for long: services write their use down every week
/// (`GrantUses`), so no device has the partition open.
struct GrantCleaner: Service {
    let client: PostgresClient
    let relay: GrantRelay
    let logger: Logger

    /// How old a grant without access has to be, and a question without an answer.
    private static let age = Duration.seconds(600)
    private static let interval = Duration.seconds(10)
    /// The number of rows per query.
    private static let batch = 500

    private var grants: GrantTable { GrantTable(client: client) }

    func run() async throws {
        await RepeatedSteps(
            [
                ("removed-grants", { while try await removeGrants() == Self.batch {} }),
                ("unused-grants", { while try await endGrants() == Self.batch {} }),
                ("forgotten-questions", { while try await forgetQuestions() == Self.batch {} }),
                ("grants-topic", { while try await cleanTopic() == Self.batch {} }),
            ], every: Self.interval, logger: logger
        ).run()
    }

    /// - Returns: the number of removed grants, at most a batch.
    private func removeGrants() async throws -> Int {
        let subjects = try await subjects(
            """
            select g.app, g.user_id, g.partition from partita.grants g where \(GrantTable.needless)
            limit \(Self.batch)
            """, [.double(Self.age / .seconds(1))])
        let count = try await each(subjects) { try await grants.remove($0, olderThan: Self.age) }
        // The outbox reads what waits for removal from the topic again and again.
        _ = try await cleanTopic()
        return count
    }

    /// - Returns: the number of ended grants, at most a batch.
    private func endGrants() async throws -> Int {
        let subjects = try await subjects(
            """
            select g.app, g.user_id, g.partition from partita.grants g where \(GrantTable.unused)
            limit \(Self.batch)
            """, [])
        return try await each(subjects) { try await grants.end($0) }
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
        return try await each(subjects) { try await grants.forget($0) }
    }

    /// Does something for each of some subjects: one that fails, since its partition is locked, doesn't keep the others from it.
    /// - Returns: how often it was done.
    /// - Throws: the first failure, at the end.
    private func each(_ subjects: [Subject], _ work: (Subject) async throws -> Bool) async throws -> Int {
        var count = 0
        var failure: (any Error)?
        for subject in subjects {
            do {
                if try await work(subject) { count += 1 }
            } catch {
                try Task.checkCancellation()
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
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

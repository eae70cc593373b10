import DocumentModel
import EventTopics
import Postgres

/// What a question needs of the tables when nothing of it is known yet, and its first answer: for all questions that come meanwhile in one
/// statement, and one transaction.
package struct FirstAnswers: Sendable {
    /// What there is when a user asks.
    struct Standing: Sendable {
        var own: Grant?
        /// The grant for all users, if it was decided by the present rules.
        var shared: Grant?
        var isShutOut = false
    }

    private struct Question: Sendable {
        let subject: Subject
        let rules: AppliedRules?
    }

    private struct Answer: Sendable {
        let subject: Subject
        let claims: Document
        let verdict: Verdict
    }

    private let client: PostgresClient
    private let standings: StatementBatches<Question, Standing>
    private let answers: StatementBatches<Answer, Grant?>

    package init(client: PostgresClient) {
        self.client = client
        standings = StatementBatches { try await Self.read($0, client) }
        answers = StatementBatches { try await Self.commit($0, client) }
    }

    func standing(of subject: Subject, by rules: AppliedRules?) async throws -> Standing {
        try await standings.answer(to: Question(subject: subject, rules: rules))
    }

    /// Stores the claims of a user who asks, and commits the first answer to the question, by `partita.first_grants`.
    ///
    /// - Returns: `nil` when there is a grant, or the user is blocked.
    package func commit(_ verdict: Verdict, on subject: Subject, claims: Document) async throws -> Grant? {
        try await answers.answer(to: Answer(subject: subject, claims: claims, verdict: verdict))
    }

    /// Returns when first answers to a user that are being committed can be found: those that didn't see that the user is blocked.
    func awaitThose(app: String, user: String) async throws {
        _ = try await client.query(
            "select from partita.lock_first_grants($1, $2, true)", [.text(app), .text(user)])
    }

    private static func read(_ questions: [Question], _ client: PostgresClient) async throws -> [Standing] {
        let rows = try await client.query(
            """
            select \(GrantTable.columns), g.user_id, q.place, exists (
                    select from partita.shut_out_users u where u.app = q.app and u.user_id = q.user_id) as is_shut_out
            from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
                with ordinality q(app, partition, user_id, of_rules, of_secrets, place)
            cross join lateral (values (q.user_id), ('*')) holder(user_id)
            left join partita.grants g on g.app = q.app and g.partition = q.partition and g.user_id = holder.user_id
                and (holder.user_id = q.user_id or g.rules = q.of_rules and g.secrets = q.of_secrets
                    and g.epoch = partita.current_epoch() and g.expires_at is null)
            """,
            subjects(questions.map(\.subject)) + [
                .int8Array(questions.map(\.rules?.version)), .int8Array(questions.map(\.rules?.secrets)),
            ])
        var standings = questions.map { _ in Standing() }
        for row in rows {
            let place = Int(try row.decode("place", as: Int64.self)) - 1
            standings[place].isShutOut = try row.decode("is_shut_out")
            guard let user = try row.decode("user_id", as: String?.self) else { continue }
            let subject = questions[place].subject
            if user.hasSameBytes(as: subject.user) {
                standings[place].own = try GrantTable.grant(row, of: subject)
            } else {
                standings[place].shared = try GrantTable.grant(row, of: subject.everyone)
            }
        }
        return standings
    }

    private static func commit(_ answers: [Answer], _ client: PostgresClient) async throws -> [Grant?] {
        let verdicts = answers.map(\.verdict)
        let rows = try await client.query(
            """
            select granted_access, granted_epoch, granted_version, granted_reason, granted_until, false as fence, place
            from partita.first_grants($1, $2, $3, $4, $5, $6, $7, $8, $9)
            """,
            subjects(answers.map(\.subject)) + [
                .textArray(answers.map { ExtendedJSON.print($0.claims) }), .textArray(verdicts.map(\.access.rawValue)),
                .legibleArray(verdicts.map(\.reason)),
                .int8Array(verdicts.map { $0.isUntracked ? Int64(GrantTable.untrackedLifetime) : nil }),
                .int8Array(verdicts.map(\.rules?.version)), .int8Array(verdicts.map(\.rules?.secrets)),
            ])
        var grants: [Grant?] = answers.map { _ in nil }
        for row in rows {
            let place = Int(try row.decode("place", as: Int64.self)) - 1
            grants[place] = try GrantTable.grant(row, of: answers[place].subject)
        }
        return grants
    }

    private static func subjects(_ subjects: [Subject]) -> [PostgresValue] {
        [.textArray(subjects.map(\.app)), .textArray(subjects.map(\.partition.text)), .textArray(subjects.map(\.user))]
    }
}

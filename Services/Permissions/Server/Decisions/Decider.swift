import AppRegistry
import DocumentModel
import DocumentStore
import EventTopics
import Foundation
import Logging
import Postgres

/// Decides, so that no change is missed: commits what the answer depends on, asks, and only when the answer depended on nothing else
/// commits it. A change between is seen by whoever matches the change with the dependencies, who decides again.
struct Decider: Sendable {
    let client: PostgresClient
    let apps: AppDirectory
    let evaluator: RuleEvaluator
    let relay: GrantRelay
    let logger: Logger
    private var grants: GrantTable { GrantTable(client: client) }
    private var dependencies: DependencyTable { DependencyTable(client: client) }

    init(client: PostgresClient, apps: AppDirectory, evaluator: RuleEvaluator, relay: GrantRelay, logger: Logger) {
        self.client = client
        self.apps = apps
        self.evaluator = evaluator
        self.relay = relay
        self.logger = logger
    }

    /// A rule whose dependencies are others each time can't be watched.
    private static let rounds = 5

    /// Answers a question, and remembers who asked.
    func decide(_ subject: Subject, claims: Document) async throws {
        try await client.execute(
            """
            insert into partita.grant_subjects (app, partition, user_id, claims) values ($1, $2, $3, $4)
            on conflict (app, partition, user_id) do update set claims = excluded.claims, asked_at = now()
            """,
            [
                .text(subject.app), .text(subject.partition.text), .text(subject.user),
                .text(ExtendedJSON.print(claims)),
            ])
        try await decide(subject, knownClaims: claims)
    }

    /// Decides again, because something that the answer depends on has changed.
    func decideAgain(_ subject: Subject) async throws {
        let rows = try await client.query(
            "select claims from partita.grant_subjects where app = $1 and partition = $2 and user_id = $3",
            [.text(subject.app), .text(subject.partition.text), .text(subject.user)])
        guard let text = try rows.first?.decode(0, as: String.self) else { return }
        try await decide(subject, knownClaims: try ExtendedJSON.parseDocument(text))
    }

    /// Takes everything away from a user: the account is gone.
    func revokeAll(app: String, user: String) async throws {
        for subject in try await grants.subjects(app: app, user: user) {
            try await commit(Verdict(access: .none, reason: "the user is gone", dependencies: []), on: subject)
        }
    }

    /// Decides everything again, because the rules have changed.
    func decideAll(app: String) async {
        do {
            for subject in try await grants.subjects(app: app) { try await decideAgain(subject) }
        } catch {
            logger.error(
                "not all decisions follow the new rules yet", metadata: ["app": "\(app)", "error": "\(error)"])
        }
    }

    private func decide(_ subject: Subject, knownClaims claims: Document) async throws {
        guard let app = apps.app(subject.app) else {
            return try await commit(
                Verdict(access: .none, reason: "the app is not deployed", dependencies: []), on: subject)
        }
        let start = ContinuousClock.now
        var known = try await dependencies.dependencies(of: subject)
        for _ in 0..<Self.rounds {
            let verdict: Verdict
            do {
                verdict = try await evaluator.verdict(on: subject, claims: claims, app: app)
            } catch let failure where !Self.mayPass(failure) {
                logger.warning(
                    "a rule failed, the answer is no",
                    metadata: [
                        "partition.id": "\(subject.partition)", "user.id": "\(subject.user)", "error": "\(failure)",
                    ])
                PermissionsMetrics.ruleFailures.increment()
                return try await commit(
                    Verdict(access: .none, reason: "the rule failed: \(failure)", dependencies: [], isUntracked: true),
                    on: subject)
            }
            if verdict.dependencies.isSubset(of: known) {
                try await commit(verdict, on: subject)
                PermissionsMetrics.decisions[verdict.access.rawValue].increment()
                PermissionsMetrics.decisionSeconds.record(ContinuousClock.now - start)
                return
            }
            try await dependencies.add(verdict.dependencies, of: subject)
            known.formUnion(verdict.dependencies)
        }
        try await commit(
            Verdict(access: .none, reason: "the rule looks at other documents each time", dependencies: []), on: subject
        )
    }

    private func commit(_ verdict: Verdict, on subject: Subject) async throws {
        relay.publish(try await grants.commit(verdict, on: subject))
    }

    /// Whether trying again may help: an engine that is away says nothing about a rule.
    private static func mayPass(_ error: any Error) -> Bool {
        error is PostgresError || (error as? DocumentStoreError)?.code == .unavailable
    }
}

import AppRegistry
import DocumentModel
import DocumentStore
import EventTopics
import Foundation
import FunctionProtocol
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
    /// How many hosts a rule may lose.
    private static let losses = 2
    /// Between attempts to decide again after a deployment.
    private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(4), .seconds(8)]

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

    /// Takes everything away from a user whom auth has shut out: access tokens live longer than accounts.
    func shutOut(app: String, user: String) async throws {
        // A decision that didn't know it yet has written its subject before.
        for subject in try await grants.subjects(app: app, user: user) {
            try await revoke(subject, reason: GrantTable.shutOutReason)
        }
        try await grants.forgetClaims(app: app, user: user)
    }

    /// Decides everything again, because the rules have changed.
    func decideAll(app: String) async {
        do {
            var left = try await grants.subjects(app: app)
            for pause in Self.pauses where !left.isEmpty {
                var failed: [Subject] = []
                for subject in left {
                    do {
                        try await decideAgain(subject)
                    } catch {
                        logger.warning(
                            "a decision is tried again",
                            metadata: ["partition.id": "\(subject.partition)", "error": "\(error)"])
                        failed.append(subject)
                    }
                }
                left = failed
                if !left.isEmpty { try await Task.sleep(for: pause) }
            }
            if left.isEmpty { return }
            logger.error(
                "not all decisions follow the new rules", metadata: ["app": "\(app)", "count": "\(left.count)"])
        } catch {
            logger.error("decisions don't follow the new rules", metadata: ["app": "\(app)", "error": "\(error)"])
        }
    }

    private func decide(_ subject: Subject, knownClaims claims: Document) async throws {
        guard let app = apps.app(subject.app) else {
            return try await revoke(subject, reason: "the app is not deployed")
        }
        let start = ContinuousClock.now
        var known = try await dependencies.dependencies(of: subject)
        var rounds = 0, losses = 0
        while rounds < Self.rounds {
            let basis = try await grants.grant(of: subject)?.version
            var verdict: Verdict
            do {
                verdict = try await evaluator.verdict(on: subject, claims: claims, app: app)
            } catch let failure where !Self.mayPass(failure) {
                // One host may be lost by another's doing; a rule that loses each is at fault.
                if Self.isHostLost(failure), losses < Self.losses {
                    losses += 1
                    continue
                }
                logger.warning(
                    "a rule failed, the answer is no",
                    metadata: [
                        "partition.id": "\(subject.partition)", "user.id": "\(subject.user)", "error": "\(failure)",
                    ])
                PermissionsMetrics.ruleFailures.increment()
                verdict = Verdict(
                    access: .none, reason: "the rule failed: \(failure)", dependencies: [], isUntracked: true)
            }
            if verdict.dependencies.isSubset(of: known) {
                // Another decision may have been made meanwhile, on newer documents.
                guard let grant = try await grants.commit(verdict, on: subject, basis: .version(basis)) else {
                    continue
                }
                relay.publish(grant)
                PermissionsMetrics.decisions[grant.access.rawValue].increment()
                PermissionsMetrics.decisionSeconds.record(ContinuousClock.now - start)
                return
            }
            rounds += 1
            try await dependencies.add(verdict.dependencies, of: subject)
            known.formUnion(verdict.dependencies)
        }
        try await revoke(subject, reason: "the rule looks at other documents each time")
    }

    private func revoke(_ subject: Subject, reason: String) async throws {
        let verdict = Verdict(access: .none, reason: reason, dependencies: [])
        if let grant = try await grants.commit(verdict, on: subject, basis: .whatever) { relay.publish(grant) }
    }

    /// Whether trying again later may help: an engine that is away, or the end of the process, says nothing about a rule.
    private static func mayPass(_ error: any Error) -> Bool {
        error is PostgresError || error is CancellationError || error is RuleEvaluator.Interrupted
            || (error as? DocumentStoreError)?.code == .unavailable
    }

    private static func isHostLost(_ error: any Error) -> Bool { (error as? FunctionFailure)?.code == .hostLost }
}

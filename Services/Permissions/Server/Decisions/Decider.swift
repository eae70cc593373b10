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
///
/// A question that is told no where there was no right before leaves nothing: no row, and no key in the topic. Such an answer isn't followed
/// when documents change; who was told no asks again.
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

    /// Answers a question, and remembers who asked; unless the answer is no, which leaves nothing behind.
    func decide(_ subject: Subject, claims: Document) async throws {
        var expected: Set<Dependency> = []
        let grant = try await grants.grant(of: subject)
        if grant.map({ $0.access == Grant.Access.none }) ?? true {
            // Asked before anything is written. What is told no here needs no watching: nobody is served by it.
            let first = try await verdict(on: subject, claims: claims)
            guard first.access != .none else { return try await deny(subject, first) }
            expected = first.dependencies
        }
        try await settle(subject, claims: claims, asksAnew: true, expected: expected)
    }

    /// Decides again, because something that the answer depends on has changed.
    func decideAgain(_ subject: Subject) async throws {
        guard let claims = try await grants.claims(of: subject) else { return }
        try await settle(subject, claims: claims, asksAnew: false, expected: [])
    }

    /// Revokes all grants of a user whom auth has blocked: access tokens can outlive accounts.
    func shutOut(app: String, user: String) async throws {
        // A decision that didn't know it yet has written its subject before.
        for subject in try await grants.subjects(app: app, user: user) {
            try await revoke(subject, reason: GrantTable.shutOutReason)
        }
        try await grants.forgetClaims(app: app, user: user)
    }

    /// Decides, with the dependencies committed before the rules are asked.
    ///
    /// - Parameters:
    ///   - asksAnew: somebody asks; otherwise there was an answer, and where there is none any more nobody needs one.
    ///   - expected: what the rules have looked at just now.
    private func settle(
        _ subject: Subject, claims: Document, asksAnew: Bool, expected: Set<Dependency>
    ) async throws {
        let start = ContinuousClock.now
        var expected = expected
        var rounds = 0
        while rounds < Self.rounds {
            let life = asksAnew ? try await grants.begin(subject, claims: claims) : nil
            let basis: GrantTable.Basis
            let standing = try await grants.grant(of: subject)
            if let grant = standing {
                basis = .version(grant.version)
            } else if let life {
                basis = .nothing(life: life)
            } else {
                // Whoever is about to give the first answer finds its subject gone, and begins again.
                _ = try await grants.forget(subject)
                return
            }
            var known = try await dependencies.dependencies(of: subject)
            if !expected.isSubset(of: known) {
                try await dependencies.add(expected.subtracting(known), of: subject)
                known.formUnion(expected)
            }
            let verdict = try await verdict(on: subject, claims: claims)
            guard verdict.dependencies.isSubset(of: known) else {
                expected = verdict.dependencies
                rounds += 1
                continue
            }
            if case .nothing = basis, verdict.access == .none {
                // It was allowed just before. Another decision may have given it meanwhile, and is to be followed.
                guard try await grants.forget(subject) else { continue }
                return try await deny(subject, verdict)
            }
            // Nobody waits for the answer that stands already.
            if !asksAnew, let standing, standing.says(verdict), try await grants.confirm(verdict, on: subject, standing)
            {
                return
            }
            // Another decision may have been made meanwhile, on newer documents.
            guard let grant = try await grants.commit(verdict, on: subject, basis: basis) else { continue }
            relay.publish(grant)
            PermissionsMetrics.decisions[grant.access.rawValue].increment()
            PermissionsMetrics.decisionSeconds.record(ContinuousClock.now - start)
            return
        }
        try await revoke(subject, reason: "the rule looks at other documents each time")
    }

    /// What the rules say; no where they fail.
    private func verdict(on subject: Subject, claims: Document) async throws -> Verdict {
        guard let app = apps.app(subject.app) else {
            return Verdict(access: .none, reason: "the app is not deployed", dependencies: [])
        }
        if try await grants.isShutOut(subject) {
            return Verdict(access: .none, reason: GrantTable.shutOutReason, dependencies: [], rules: app.version)
        }
        var losses = 0
        while true {
            do {
                var verdict = try await evaluator.verdict(on: subject, claims: claims, app: app)
                verdict.rules = app.version
                return verdict
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
                return Verdict(
                    access: .none, reason: "the rule failed: \(failure)", dependencies: [], isUntracked: true,
                    rules: app.version)
            }
        }
    }

    /// Takes back what there is, and tells those who wait for a first answer no.
    private func revoke(_ subject: Subject, reason: String) async throws {
        let verdict = Verdict(
            access: .none, reason: reason, dependencies: [], rules: apps.app(subject.app)?.version)
        while true {
            if let grant = try await grants.commit(verdict, on: subject, basis: .whatever) {
                return relay.publish(grant)
            }
            if try await grants.forget(subject) { return try await deny(subject, verdict) }
        }
    }

    /// Answers no by the topic alone.
    private func deny(_ subject: Subject, _ verdict: Verdict) async throws {
        try await relay.deny(try await grants.denial(verdict, of: subject))
        PermissionsMetrics.decisions[Grant.Access.none.rawValue].increment()
    }

    /// Whether trying again later may help: an engine that is away, or the end of the process, says nothing about a rule.
    private static func mayPass(_ error: any Error) -> Bool {
        error is PostgresError || error is CancellationError || error is RuleEvaluator.Interrupted
            || (error as? DocumentStoreError)?.code == .unavailable
    }

    private static func isHostLost(_ error: any Error) -> Bool { (error as? FunctionFailure)?.code == .hostLost }
}

extension Grant {
    /// Whether a verdict says nothing that isn't in force already. What gives nothing, or holds for seconds only, is always said again.
    fileprivate func says(_ verdict: Verdict) -> Bool {
        access != .none && access == verdict.access && expires == nil && !verdict.isUntracked
            && reason.hasSameBytes(as: verdict.reason)
    }
}

import AppRegistry
import DocumentModel
import DocumentStore
import EventTopics
import Foundation
import FunctionProtocol
import Logging
import Postgres

/// Makes decisions so that no change is missed: it commits what the answer depends on, evaluates the rules, and commits the answer
/// only if it depended on nothing else. `ChangesHandler` matches a change in between with these dependencies, and decides again.
///
/// A denied question without a previous grant leaves nothing behind: no row, and no key in the topic. Such an answer isn't decided
/// again when documents change; the denied user has to ask again.
struct Decider: Sendable {
    let client: PostgresClient
    let apps: AppDirectory
    let evaluator: RuleEvaluator
    let relay: GrantRelay
    let logger: Logger
    private let firstAnswers: FirstAnswers
    private var grants: GrantTable { GrantTable(client: client) }
    private var dependencies: DependencyTable { DependencyTable(client: client) }

    init(client: PostgresClient, apps: AppDirectory, evaluator: RuleEvaluator, relay: GrantRelay, logger: Logger) {
        self.client = client
        self.apps = apps
        self.evaluator = evaluator
        self.relay = relay
        self.logger = logger
        firstAnswers = FirstAnswers(client: client)
    }

    /// The number of attempts: a rule whose dependencies differ each time can't be watched.
    private static let rounds = 5
    /// How many hosts a rule may crash before it is considered failed.
    private static let losses = 2
    /// How often a rule may run out of time while it waits for others before it is considered failed.
    private static let waits = 5

    /// Answers a question, and stores the user's claims; a denial leaves nothing behind.
    func decide(_ subject: Subject, claims: Document) async throws {
        var expected: Set<Dependency> = []
        let rules = apps.app(subject.app).map(AppliedRules.init)
        let standing = try await firstAnswers.standing(of: subject, by: rules)
        if standing.own.map({ $0.access == Grant.Access.none }) ?? true {
            // The rules are evaluated before anything is written. A denial here needn't be watched, since nothing is served because
            // of it.
            let first = try await verdict(on: subject, claims: claims, isShutOut: standing.isShutOut)
            guard first.access != .none else { return try await answerOnly(subject, first) }
            if standing.own == nil, first.isForEveryone, !subject.isEveryone {
                return try await share(first, with: subject, shared: first.rules == rules ? standing.shared : nil)
            }
            if standing.own == nil, first.dependencies.isEmpty, try await answer(subject, claims: claims, first) {
                return
            }
            expected = first.dependencies
        }
        try await settle(subject, claims: claims, asksAnew: true, expected: expected)
    }

    /// Answers with the grant for all users: however many ask for the partition, it has one grant. A user who has a grant of former rules
    /// keeps it as their own.
    /// - Parameter shared: that grant, if there is one by the same rules.
    private func share(_ verdict: Verdict, with subject: Subject, shared: Grant?) async throws {
        if let shared, shared.access == verdict.access {
            // It may have been published before the asking gateway listened.
            try await answerOnly(subject, verdict)
        } else if try await !answer(subject.everyone, claims: [:], verdict) {
            try await decide(subject.everyone, claims: [:])
        }
    }

    /// Commits a first answer that depends on no document, so that no change of one can be missed.
    /// - Returns: `false` if there was another one meanwhile.
    private func answer(_ subject: Subject, claims: Document, _ verdict: Verdict) async throws -> Bool {
        let start = ContinuousClock.now
        guard let grant = try await firstAnswers.commit(verdict, on: subject, claims: claims) else { return false }
        relay.publish(grant)
        PermissionsMetrics.decisions[grant.access.rawValue].increment()
        PermissionsMetrics.decisionSeconds.record(ContinuousClock.now - start)
        // New rules came after the verdict, and may have been applied before the subject was there.
        if apps.app(subject.app).map(AppliedRules.init) != verdict.rules { try await decideAgain(subject) }
        return true
    }

    /// Decides again because a dependency of the answer has changed.
    func decideAgain(_ subject: Subject) async throws {
        guard let claims = try await grants.claims(of: subject) else {
            // Without the question it can't be decided again: whoever is served by it has to ask.
            if try await grants.endWithoutSubject(subject) { PermissionsMetrics.orphans.increment() }
            return
        }
        try await settle(subject, claims: claims, asksAnew: false, expected: [])
    }

    /// Revokes all grants of a user whom auth has blocked: access tokens can outlive accounts. Does nothing for one who is enabled by now: the event
    /// may come late, or again.
    func shutOut(app: String, user: String) async throws {
        guard try await grants.isShutOut(user, app: app) else { return }
        // A concurrent decision that didn't see the block has already written its subject, or writes it with its grant.
        try await firstAnswers.awaitThose(app: app, user: user)
        for subject in try await grants.subjects(app: app, user: user) {
            try await revoke(subject, reason: GrantTable.shutOutReason) { try await grants.isShutOut(user, app: app) }
        }
        try await grants.forgetClaims(app: app, user: user)
    }

    /// Decides, with the dependencies committed before the rules are evaluated.
    ///
    /// - Parameters:
    ///   - asksAnew: `true` for a question; `false` when an existing answer is decided again, which does nothing if that answer was
    ///     removed.
    ///   - expected: the dependencies that a preceding evaluation of the rules had.
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
                // A concurrent decision that is about to give the first answer finds its subject removed, and starts again.
                _ = try await grants.forget(subject)
                return
            }
            var known = try await dependencies.dependencies(of: subject)
            if !expected.isSubset(of: known) {
                try await dependencies.add(expected.subtracting(known), of: subject)
                known.formUnion(expected)
            }
            let verdict = try await verdict(
                on: subject, claims: claims, isShutOut: try await grants.isShutOut(subject.user, app: subject.app))
            guard verdict.dependencies.isSubset(of: known) else {
                expected = verdict.dependencies
                rounds += 1
                continue
            }
            if case .nothing = basis, verdict.access == .none {
                // The preceding evaluation allowed it. Another decision may have granted it meanwhile; then this one is based on
                // that grant.
                guard try await grants.forget(subject) else { continue }
                return try await answerOnly(subject, verdict)
            }
            // An answer that stays the same needn't be published, since no gateway waits for it.
            if !asksAnew, let standing, standing.says(verdict), try await grants.confirm(verdict, on: subject, standing)
            {
                PermissionsMetrics.decisions[standing.access.rawValue].increment()
                return
            }
            // Another decision may have been committed meanwhile, based on newer documents.
            guard let grant = try await grants.commit(verdict, on: subject, basis: basis) else {
                // An unused grant was ended, with its question.
                if !asksAnew, try await grants.claims(of: subject) == nil { return }
                continue
            }
            relay.publish(grant)
            PermissionsMetrics.decisions[grant.access.rawValue].increment()
            PermissionsMetrics.decisionSeconds.record(ContinuousClock.now - start)
            return
        }
        try await revoke(subject, reason: "the rule reads other documents each time")
    }

    /// Evaluates the rules; a failure denies access.
    private func verdict(on subject: Subject, claims: Document, isShutOut: Bool) async throws -> Verdict {
        guard let app = apps.app(subject.app) else {
            try apps.requireReadable([ExactText(subject.app)])
            return Verdict(access: .none, reason: "the app is not deployed", dependencies: [])
        }
        if isShutOut {
            return Verdict(access: .none, reason: GrantTable.shutOutReason, dependencies: [], rules: AppliedRules(app))
        }
        var losses = 0
        var waits = 0
        while true {
            do {
                var verdict = try await evaluator.verdict(on: subject, claims: claims, app: app)
                if subject.isEveryone, !verdict.isForEveryone {
                    verdict = Verdict(.none, reason: "the rules aren't the same for all users")
                }
                verdict.rules = AppliedRules(app)
                return verdict
            } catch let failure where !Self.mayPass(failure) {
                // One host may be lost for another reason; a rule that crashes each host is at fault.
                if Self.isHostLost(failure), losses < Self.losses {
                    losses += 1
                    continue
                }
                // Who has a grant keeps it meanwhile: devices remove what they must not read any more.
                if (failure as? FunctionFailure)?.waitedForOthers == true, waits < Self.waits {
                    waits += 1
                    continue
                }
                logger.warning(
                    "a rule failed, access is denied",
                    metadata: [
                        "partition.id": "\(subject.partition)", "user.id": "\(subject.user)", "error": "\(failure)",
                    ])
                PermissionsMetrics.ruleFailures.increment()
                return Verdict(
                    access: .none, reason: "the rule failed: \(failure)", dependencies: [], isUntracked: true,
                    rules: AppliedRules(app))
            }
        }
    }

    /// Revokes the existing grant, or denies a question that waits for a first answer.
    /// - Parameter holds: whether there is a reason to.
    private func revoke(
        _ subject: Subject, reason: String, while holds: () async throws -> Bool = { true }
    ) async throws {
        let verdict = Verdict(
            access: .none, reason: reason, dependencies: [], rules: apps.app(subject.app).map(AppliedRules.init))
        while try await holds() {
            if let grant = try await grants.commit(verdict, on: subject, basis: .whatever) {
                return relay.publish(grant)
            }
            if try await grants.forget(subject) { return try await answerOnly(subject, verdict) }
        }
    }

    /// Answers a question on the topic, without a row: a refusal, or what the grant for all users gives.
    private func answerOnly(_ subject: Subject, _ verdict: Verdict) async throws {
        try await relay.answer(try await grants.answer(verdict, of: subject))
        PermissionsMetrics.decisions[verdict.access.rawValue].increment()
    }

    /// Whether the failure is transient: an unavailable engine, or the end of the process, says nothing about a rule.
    private static func mayPass(_ error: any Error) -> Bool {
        error is PostgresError || error is CancellationError || error is RuleEvaluator.Interrupted
            || error is AppDirectory.Unreadable
            || (error as? DocumentStoreError)?.code == .unavailable
    }

    private static func isHostLost(_ error: any Error) -> Bool { (error as? FunctionFailure)?.code == .hostLost }
}

extension Grant {
    /// Whether a verdict is the same as this grant. A denial, or a verdict that is valid only for seconds, is always committed and
    /// published again.
    fileprivate func says(_ verdict: Verdict) -> Bool {
        access != .none && access == verdict.access && expires == nil && !verdict.isUntracked
            && reason.hasSameBytes(as: verdict.reason)
    }
}

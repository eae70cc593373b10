import AppDefinition
import DocumentModel
import DocumentStore
import EventLoop
import Functions
import Logging
import Postgres

/// Who gains and who loses access to what by new rules: to partitions, or by data rules to documents. All of the pairs of a user and one of
/// these that the server knows or, of many, a part.
public struct AccessDifference: Sendable {
    /// What rules say of a user.
    public enum Access: String, Sendable, Comparable {
        case none, read, write

        public static func < (left: Access, right: Access) -> Bool { left.rank < right.rank }
        private var rank: Int { self == .none ? 0 : self == .read ? 1 : 2 }
    }

    /// What the rules are about.
    public enum Kind: Sendable {
        case partitions, documents
    }

    /// What a user has access to.
    public enum Subject: Sendable {
        /// In the form of key texts (`s:team-1`).
        case partition(String)
        /// The collection as `database.collection`, and the `_id` as key text.
        case document(collection: String, id: String)

        /// As it is shown: the partition, or the collection and the `_id`.
        public var text: String {
            switch self {
            case .partition(let partition): partition
            case .document(let collection, let id): "\(collection) \(id)"
            }
        }
    }

    /// A user for whom the rules give another answer.
    public struct Change: Sendable {
        public let user: String
        public let subject: Subject
        public let before: Access
        public let after: Access
    }

    private let kind: Kind
    /// How many pairs there are, and how many of them were evaluated.
    public let pairs: Int
    public let evaluated: Int
    /// How many of them couldn't be evaluated by one of the versions, because a function failed; nobody has access then.
    public let failed: Int
    /// How many couldn't be evaluated because a function failed that didn't get a secret: an uploaded definition's functions get none, so
    /// that nobody knows what these pairs will have.
    public let untold: Int
    public let gains: Int
    public let losses: Int
    /// Some of the changes, losses first.
    public let examples: [Change]

    /// The most pairs of a user and a partition that are evaluated.
    public static let pairLimit = 2000
    static let exampleLimit = 10

    init(of kind: Kind, pairs: Int, evaluated: Int, failed: Int, untold: Int, changes: [Change]) {
        let losses = changes.filter { $0.after < $0.before }
        let gains = changes.filter { $0.after > $0.before }
        let half = Self.exampleLimit / 2
        self.kind = kind
        self.pairs = pairs
        self.evaluated = evaluated
        self.failed = failed
        self.untold = untold
        self.gains = gains.count
        self.losses = losses.count
        examples = Array(losses.prefix(half) + gains.prefix(half))
    }

    public var lines: [String] {
        let (title, subject, unknown) =
            switch kind {
            case .partitions: ("access", "a partition", "no user is known yet")
            case .documents: ("data access", "a document", "no user or no document is known yet")
            }
        guard pairs > 0 else { return ["\(title): \(unknown)"] }
        guard evaluated > 0 else {
            return ["\(title): unknown, since none of \(pairs) pairs of a user and \(subject) was evaluated in time"]
        }
        let part = evaluated < pairs ? "\(evaluated) of " : ""
        var trouble = failed > 0 ? "; in \(failed) a rule function failed" : ""
        if untold > 0 {
            trouble +=
                "; of \(untold) it is unknown: a rule function failed, and functions get no secrets in a comparison"
        }
        let rest = gains + losses - examples.count
        return ["\(title) of \(part)\(pairs) pairs of a user and \(subject): \(losses) lose, \(gains) gain\(trouble)"]
            + examples.map { "  \($0.user)  \($0.subject.text)  \($0.before.rawValue) → \($0.after.rawValue)" }
            + (rest > 0 ? ["  and \(rest) more"] : [])
    }
}

extension AppDefinition {
    /// Whether its functions ask for a secret that they don't get.
    var lacksSecrets: Bool {
        values.contains { $0.isFromSecret && secrets[$0.value.stringValue ?? ""] == nil }
    }
}

extension AppDeployments {
    private struct Pair: Sendable {
        let user: RuleUser
        let partition: String
    }

    /// Evaluates two definitions' rules; `nil` when these are the same, or `permissions` has never run on the database.
    func accessDifference(
        _ before: AppDefinition, _ after: AppDefinition, limit: Duration = .seconds(60)
    ) async throws -> AccessDifference? {
        guard RuleTexts.ofPartitions(before) != RuleTexts.ofPartitions(after) else { return nil }
        let (pairs, count) = try await knownPairs(of: after.id)
        let hosts = FunctionHostPool(configuration: .init(hosts: 2), loop: loop, logger: Logger(label: "rules"))
        let running = Task { try await hosts.run() }
        defer { running.cancel() }
        let deadline = ContinuousClock.now + limit
        let rules = { (definition: AppDefinition) in
            PartitionRules(store: store(definition), functions: hosts)
        }
        let (old, new) = (rules(before), rules(after))
        var changes: [AccessDifference.Change] = []
        var (evaluated, failed, untold) = (0, 0, 0)
        let (oldLacks, newLacks) = (before.lacksSecrets, after.lacksSecrets)
        // Few at a time: each may hold a process and a connection.
        for start in stride(from: 0, to: pairs.count, by: 4) where ContinuousClock.now < deadline {
            let part = pairs[start..<min(start + 4, pairs.count)]
            let answers = try await withThrowingTaskGroup(
                of: (Pair, AccessDifference.Access?, AccessDifference.Access?).self
            ) { group in
                for pair in part {
                    group.addTask {
                        (
                            pair, try await Self.access(pair, old, before, version: -1),
                            try await Self.access(pair, new, after, version: -2)
                        )
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for (pair, first, second) in answers {
                evaluated += 1
                if first == nil && oldLacks || second == nil && newLacks {
                    untold += 1
                    continue
                }
                if first == nil || second == nil { failed += 1 }
                let (first, second) = (first ?? .none, second ?? .none)
                guard first != second else { continue }
                changes.append(
                    .init(user: pair.user.id, subject: .partition(pair.partition), before: first, after: second))
            }
        }
        return AccessDifference(
            of: .partitions, pairs: count, evaluated: evaluated, failed: failed, untold: untold, changes: changes)
    }

    /// What rules answer; `nil` when a function failed.
    static func answer<Answer>(_ ask: () async throws -> Answer) async throws -> Answer? {
        do {
            return try await ask()
        } catch let error as DocumentStoreError where error.code == .unavailable {
            throw error
        } catch let error as PostgresError {
            throw error
        } catch {
            return nil
        }
    }

    /// - Returns: `nil` when a function failed.
    private static func access(
        _ pair: Pair, _ rules: PartitionRules, _ app: AppDefinition, version: Int64
    ) async throws -> AccessDifference.Access? {
        try await answer {
            let answer = try await rules.answer(
                app, version: version, user: pair.user, partition: Partition(text: pair.partition))
            return answer.mayWrite ? .write : answer.mayRead ? .read : .none
        }
    }

    /// The pairs that were asked about, the latest first, and then each user with each partition.
    private func knownPairs(of app: String) async throws -> (pairs: [Pair], count: Int) {
        guard try await hasTable("grant_subjects") else { return ([], 0) }
        let limit = AccessDifference.pairLimit
        var pairs: [Pair] = []
        var seen: Set<ExactText> = []
        func add(_ user: RuleUser, _ partition: String) {
            guard pairs.count < limit, seen.insert("\(user.id)\u{0}\(partition)").inserted else { return }
            pairs.append(Pair(user: user, partition: partition))
        }
        let asked = try await client.query(
            """
            select user_id, partition, claims from partita.grant_subjects where app = $1 and user_id <> '*'
            order by asked_at desc, partition, user_id limit $2
            """, [.text(app), .int(Int64(limit))]
        ).decode((String, String, String).self)
        for (user, partition, claims) in asked {
            add(RuleUser(claims: try ExtendedJSON.parseDocument(claims), id: user), partition)
        }
        let places = try await client.query(
            """
            select partition, count(*) over () from (
                select partition from partita.partitions where app = $1 and (partition < 'i:' or partition >= 'i;')
                union select partition from partita.grant_subjects where app = $1
            ) places order by md5(partition) limit 200
            """, [.text(app)]
        ).decode((String, Int).self)
        // Where all users have the same grant, nobody has asked for one of their own.
        let users = try await knownUsers(of: app, limit: 200)
        for user in users.list {
            for (partition, _) in places { add(user, partition) }
        }
        return (pairs, max(users.count * (places.first?.1 ?? 0), pairs.count))
    }

    /// Whether a service has created its table.
    func hasTable(_ name: String) async throws -> Bool {
        try await client.query("select to_regclass('partita.' || $1::text) is not null", [.text(name)])
            .decode(Bool.self).first == true
    }
}

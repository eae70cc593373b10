import DocumentModel
import SyncEngine

/// The permissions service: its tables in Postgres, its processes, and the topic of the grants. It does what `GrantTable`,
/// `FenceTable` and `Outbox` do; ``calls`` shows whether they do.
struct SimulatedPermissions: Sendable {
    /// Stands for all users.
    static let everyone = "*"

    struct Grant: Sendable {
        let user: String
        let access: Access
        let version: Revision
        let isFence: Bool
        /// When it ends, by Postgres' clock; `nil` if it holds until it is replaced.
        var expires: Int64?

        func holds(at now: Int64) -> Bool { expires.map { $0 > now } ?? true }

        var isForEveryone: Bool { user == SimulatedPermissions.everyone }

        var waiting: PermissionsCall.WaitingGrant {
            .init(user: user, access: access, version: version.number, isFence: isFence)
        }
    }

    enum Message: Sendable {
        case grant(Grant)
        case heartbeat(sentAt: Int64)
    }

    /// A gateway has stopped serving a user.
    struct Answer: Sendable {
        let user: String
        let version: Revision
        let gateway: Int
    }

    private struct Fence: Sendable {
        let user: String
        let version: Revision
        /// When the broker had it, and the gateways of then.
        var publishedAt: Int64?
        var gateways: Set<Int> = []
        var answered: Set<Int> = []
    }

    /// What a process has in memory: grants that it has committed, and those that the broker has and that aren't marked.
    private struct Process: Sendable {
        var handedOver: [Grant] = []
        var sent: [Grant] = []
        /// Whether it stands still.
        var isStopped = false
    }

    /// How long a gateway may serve after a heartbeat, and by how much two clocks may differ, in milliseconds.
    static let clockMargin: Int64 = 5
    let validity: Int64
    /// How long most grants hold, in milliseconds; `nil` if all hold until they are replaced.
    var lifetime: Int64?
    /// The clock of the machine, in milliseconds ahead of Postgres'.
    let clockOffset: Int64 = 2

    static let processes = 2
    /// The topic, by Kafka partition.
    private(set) var topic: [[Message]] = [[], []]
    private var grants: [String: Grant] = [:]
    /// The users whose grant the topic may not have.
    private var outbox: [String] = []
    private var fences: [Fence] = []
    private var receipts: [String: Revision] = [:]
    private var memory = Array(repeating: Process(), count: Self.processes)
    private var lastVersion: Int64 = 0
    /// When the grants end that don't last, by the numbers of their versions.
    private var ends: [Int64: Int64] = [:]
    /// The users to whom some decision has ever given nothing.
    private(set) var denied: Set<String> = []
    /// Those to whom, or to all, some decision has ever given no right to write.
    private var restricted: Set<String> = []
    /// Whether the rules are the same for all users.
    private var areShared = false
    /// Users who wait for a first answer.
    var questions: [String] = []
    /// Acknowledgements that weren't read yet.
    var answers: [Answer] = []
    /// What happened in the tables, if it is recorded.
    private(set) var calls: [PermissionsCall]?

    /// - Parameter isRecorded: Whether it writes down what happens in the tables.
    init(validity: Int64, lifetime: Int64?, isRecorded: Bool) {
        self.validity = validity
        self.lifetime = lifetime
        calls = isRecorded ? [] : nil
    }

    // MARK: The tables

    /// The grant that applies: the user's own, or the one for all users.
    func grant(of user: String, at now: Int64) -> Grant? {
        [user, Self.everyone].lazy.compactMap { grants[$0] }.first { $0.holds(at: now) }
    }

    /// Whether a user may write; `nil` if nobody knows, since the user's grant has expired.
    func mayWrite(_ user: String, at now: Int64) -> Bool? {
        if let grant = grant(of: user, at: now) { return grant.access == .write }
        guard let own = grants[user], own.access != .none else { return false }
        return nil
    }

    /// Whether a grant has ended, also one that was replaced since.
    func hasEnded(_ version: Revision, at now: Int64) -> Bool { ends[version.number].map { $0 <= now } ?? false }

    /// Whether some decision has ever said that a user may not write.
    func wasRestricted(_ user: String) -> Bool { !restricted.isDisjoint(with: [user, Self.everyone]) }

    /// Whether there was a receipt that nobody sends the user anything, and nothing was granted since.
    func isSealed(_ user: String) -> Bool {
        guard let grant = grants[user] ?? grants[Self.everyone], grant.access == .none,
            let receipt = receipts[grant.user]
        else { return false }
        return receipt >= grant.version
    }

    var hasOpenFences: Bool { !fences.isEmpty }

    private func kafkaPartition(of user: String) -> Int { Int(user.utf8.last ?? 0) % topic.count }

    /// Commits a decision.
    /// - Parameter process: the process that decides.
    mutating func decide(_ access: Access, for user: String, by process: Int, now: Int64) {
        let before = grants[user]
        // Once all grants last, one that ends is replaced.
        let isCurrent = before?.expires == nil || lifetime != nil && before?.holds(at: now) == true
        if before?.access ?? .none == access, isCurrent { return }
        commit(access, for: user, by: process, now: now)
    }

    /// The app gets other rules.
    /// - Parameter access: what they allow all users; `nil` if they look at the user, and allow each to write.
    /// - Returns: whether a grant for all users was revoked.
    @discardableResult
    mutating func changeRules(to access: Access?, by process: Int, now: Int64) -> Bool {
        let isRevoked = access == nil && grants[Self.everyone].map { $0.access != .none } ?? false
        areShared = access != nil
        decide(access ?? .none, for: Self.everyone, by: process, now: now)
        return isRevoked
    }

    private mutating func commit(_ access: Access, for user: String, by process: Int, now: Int64) {
        lastVersion += 1
        if access == .none { denied.insert(user) }
        if access != .write { restricted.insert(user) }
        // What is the same for all users depends on nothing.
        let isLasting = access == .none || user == Self.everyone || lastVersion % 4 == 0
        let before = grants[user]?.access ?? .none
        let grant = Grant(
            user: user, access: access, version: Revision(epoch: 1, number: lastVersion),
            isFence: access == .none && before != .none, expires: isLasting ? nil : lifetime.map { now + $0 })
        grants[user] = grant
        ends[lastVersion] = grant.expires
        calls?.append(.decide(access, user: user, version: lastVersion, isFence: grant.isFence))
        if grant.isFence { fences.append(Fence(user: user, version: grant.version)) }
        if !outbox.contains(user) { outbox.append(user) }
        memory[process].handedOver.append(grant)
    }

    /// The grant of a user's row, as the outbox reads it.
    private func row(of user: String) -> Grant? {
        guard let grant = grants[user] else { return nil }
        return Grant(
            user: user, access: grant.access, version: grant.version,
            isFence: grant.access == .none && fences.contains { $0.user == user }, expires: grant.expires)
    }

    private mutating func readOutbox() -> [Grant] {
        let grants = outbox.compactMap(row)
        calls?.append(.readOutbox(grants.map(\.waiting)))
        return grants
    }

    // MARK: The processes

    /// Lets a process answer a question: with the grant, or with a refusal that is in no table.
    mutating func answerQuestion(by process: Int, now: Int64) {
        let user = questions.removeFirst()
        if let grant = grants[user], grant.access != .none {
            commit(grant.access, for: user, by: process, now: now)
        } else if grants[user] == nil, grants[Self.everyone] != nil, !areShared {
            commit(.write, for: user, by: process, now: now)
        } else {
            let access = grants[user] == nil ? grants[Self.everyone]?.access ?? .none : .none
            if access == .none { denied.insert(user) }
            if access != .write { restricted.insert(user) }
            send(Grant(user: user, access: access, version: Revision(epoch: 1, number: 0), isFence: false))
        }
    }

    /// Whether the process has something to publish or to mark.
    func isBusy(_ process: Int) -> Bool {
        if memory[process].isStopped { return false }
        return !memory[process].sent.isEmpty || !memory[process].handedOver.isEmpty || !outbox.isEmpty
    }

    /// Marks what a process has published, or else publishes more.
    mutating func publish(by process: Int, now: Int64, gateways: Set<Int>) {
        if !memory[process].sent.isEmpty {
            mark(memory[process].sent, now: now, gateways: gateways)
            memory[process].sent = []
        } else {
            let handedOver = memory[process].handedOver
            memory[process].handedOver = []
            let batch = handedOver.isEmpty ? readOutbox() : handedOver
            for grant in batch { send(grant) }
            memory[process].sent = batch
        }
    }

    /// A process ends, and another one takes its place.
    mutating func die(_ process: Int) { memory[process] = Process() }

    /// A process stands still with what it has in memory, or goes on.
    mutating func stopOrContinue(_ process: Int) { memory[process].isStopped.toggle() }

    mutating func continueAll() { for process in memory.indices { memory[process].isStopped = false } }

    private mutating func send(_ grant: Grant) { topic[kafkaPartition(of: grant.user)].append(.grant(grant)) }

    mutating func sendHeartbeats(now: Int64) {
        for partition in topic.indices { topic[partition].append(.heartbeat(sentAt: now + clockOffset)) }
    }

    private mutating func mark(_ batch: [Grant], now: Int64, gateways: Set<Int>) {
        calls?.append(.mark(batch.map(\.waiting), now: now, gateways: gateways))
        for grant in batch where grant.access != .none && grant.version.number > 1 {
            fences.removeAll { $0.user == grant.user && $0.publishedAt == nil && $0.version < grant.version }
        }
        for grant in batch where grant.isFence {
            for place in fences.indices
            where fences[place].user == grant.user && fences[place].publishedAt == nil
                && fences[place].version <= grant.version
            {
                fences[place].publishedAt = now
                fences[place].gateways = gateways
            }
        }
        // The topic ends with the last of each user; when another process has published a later one before, that goes once more.
        for (place, last) in batch.enumerated() where !batch[(place + 1)...].contains(where: { $0.user == last.user }) {
            guard let present = grants[last.user] else { continue }
            if last.version == present.version { outbox.removeAll { $0 == last.user } }
            if last.version < present.version, !outbox.contains(last.user) { outbox.append(last.user) }
        }
    }

    // MARK: Receipts

    /// Reads the gateways' acknowledgements, and writes the receipts that are due.
    /// - Returns: how many were written, and of how many gateways the leases had to lapse.
    mutating func writeReceipts(now: Int64) -> (written: Int, lapsed: Int) {
        for answer in answers {
            calls?.append(.answer(user: answer.user, version: answer.version.number, gateway: answer.gateway))
            for place in fences.indices
            where fences[place].user == answer.user && fences[place].version <= answer.version {
                fences[place].answered.insert(answer.gateway)
            }
        }
        answers = []
        var written: [PermissionsCall.Receipt] = []
        let patience = validity + Self.clockMargin
        fences.removeAll { fence in
            guard let published = fence.publishedAt else { return false }
            let silent = fence.gateways.subtracting(fence.answered)
            guard silent.isEmpty || published < now - patience else { return false }
            receipts[fence.user] = max(receipts[fence.user] ?? fence.version, fence.version)
            written.append(.init(user: fence.user, version: fence.version.number, lapsed: silent))
            return true
        }
        calls?.append(.writeReceipts(now: now, patience: patience, written))
        return (written.count, written.reduce(0) { $0 + $1.lapsed.count })
    }
}

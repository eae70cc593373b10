import DocumentModel
import SyncEngine

/// One gateway: what it has in memory, and where it reads the topics.
struct SimulatedGateway: Sendable {
    /// A subscription that follows a user's grants.
    struct Follower: Sendable {
        let link: Int
        let subscription: Int
    }

    /// A revocation that isn't carried out yet.
    private struct Fence: Sendable {
        var countdown: FenceCountdown
        let partition: Int32
        /// Its number in the lease.
        let number: Int
        let answer: SimulatedPermissions.Answer
    }

    /// A grant on its way to the loop of a subscription, and the number of its revocation.
    struct Notice: Sendable {
        let follower: Follower
        let grant: SimulatedPermissions.Grant
        let fence: Int?
    }

    /// No other gateway has it, also none that had its place before.
    let name: Int
    /// The clock of the machine, in milliseconds ahead of Postgres'.
    let clockOffset: Int64
    var lease = ServingLease()
    var followers = GrantFollowers<Follower>()
    /// The changes that it has read: of unfinished commits only a few.
    var feed = FeedAssembly<DocumentChange>(limit: SimulatedLink.unfinished)
    /// What it has committed for devices, and hasn't passed to its feed yet.
    var committed: [[DocumentChange]] = []
    /// The revision up to which frames were delivered.
    var delivered = EpochHistory.beginning
    var missedHeads = MissedHeads()
    /// What it reads next.
    var changesPosition: Int
    var grantPositions: [Int]
    /// Whether it gets nothing from the topic of the grants.
    var isCutOff = false
    /// Whether the topic of changes is late.
    var isBehind = false
    var notices: [Notice] = []
    /// Whether the sessions believe that the lease is valid, and whether one has found that it isn't.
    var wasValid = false
    private var wasMissed = false
    private var fences: [Int: Fence] = [:]
    private var fenceCount = 0

    init(name: Int, changesPosition: Int, grantPositions: [Int]) {
        self.name = name
        // By turns ahead and behind.
        clockOffset = name % 2 == 0 ? -3 : 7
        self.changesPosition = changesPosition
        self.grantPositions = grantPositions
        lease.follow(partitions: grantPositions.count)
        lease.registered(until: .seconds(1 << 40))
    }

    /// Whether it may serve, by a clock of its own that is never set.
    func isValid(at now: Int64) -> Bool { .milliseconds(now) < lease.deadline }

    mutating func mayServe(at now: Int64) -> Bool {
        if isValid(at: now) { return true }
        wasMissed = true
        return false
    }

    /// Whether the sessions have to be told of the lease.
    mutating func leaseHasChanged(at now: Int64) -> Bool {
        let isValid = isValid(at: now)
        if isValid != wasValid {
            wasValid = isValid
            return true
        }
        guard isValid, wasMissed else { return false }
        wasMissed = false
        return true
    }

    /// Handles a message of the grants.
    /// - Returns: an acknowledgement that is due at once.
    mutating func handle(
        _ message: SimulatedPermissions.Message, on partition: Int, validity: Int64, now: Int64
    ) -> SimulatedPermissions.Answer? {
        switch message {
        case .heartbeat(let sentAt):
            lease.renew(
                partition: Int32(partition), sentAt: sentAt, validFor: validity, now: .milliseconds(now),
                wallTime: now + clockOffset)
            return nil
        case .grant(let grant):
            let observers = followers.observers(of: ExactText(grant.user))
            var number: Int?
            if grant.isFence {
                let leaseFence = lease.fenceBegan(on: Int32(partition))
                let countdown = FenceCountdown(followers: observers.count)
                let answer = SimulatedPermissions.Answer(user: grant.user, version: grant.version, gateway: name)
                fenceCount += 1
                fences[fenceCount] = Fence(
                    countdown: countdown, partition: Int32(partition), number: leaseFence, answer: answer)
                if countdown.isDone { return carriedOut(fenceCount) }
                number = fenceCount
            }
            notices += observers.map { Notice(follower: $0, grant: grant, fence: number) }
            return nil
        }
    }

    /// A follower has stopped.
    /// - Returns: the acknowledgement, if it was the last one.
    mutating func stopped(_ fence: Int) -> SimulatedPermissions.Answer? {
        fences[fence]?.countdown.stopped() == true ? carriedOut(fence) : nil
    }

    private mutating func carriedOut(_ fence: Int) -> SimulatedPermissions.Answer? {
        guard let done = fences.removeValue(forKey: fence) else { return nil }
        lease.fenceEnded(done.number, on: done.partition)
        return done.answer
    }
}

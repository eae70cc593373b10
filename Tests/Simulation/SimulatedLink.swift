import DocumentModel
import SyncEngine

/// One connection between a device and its gateway: the gateway's session, its socket, and the frames in flight, which are lost with it.
///
/// A class, since a world asks its connections at every step: copies of their state would take a seventh of the time.
final class SimulatedLink {
    enum Up {
        case subscribe(Revision, resume: String?)
        case upload(Changeset)
    }

    enum Down {
        case subscribed(Access, lastVersion: Int64)
        case download(Download)
        case ack(version: Int64, Revision, [LostWrite])
        case rejected(version: Int64, OperationRejection)
        case forked(version: Int64)
        case gap
        case access(Access)
        case revoked
        /// The partition is closed, and may be opened again.
        case closed
    }

    /// A changeset that the gateway has received.
    struct Received {
        let device: String
        let changeset: Changeset
        let time: HybridTime
        /// The subscription in which it was sent.
        let subscription: Int
        /// Its commit, if that has begun.
        var open: SimulatedServer.OpenUpload?
    }

    /// What waits until the kernel has taken everything that is queued.
    enum Wait {
        case nothing
        case stopFollowing(GrantFollowers<SimulatedGateway.Follower>.Following)
        /// A revocation is carried out.
        case fence(Int)
    }

    /// What the session asks of its gateway.
    enum Request {
        case follow
        case release(Wait)
    }

    /// What may happen on it next.
    enum Choice {
        case arriveUp, arriveDown, startRead, endRead, readGrant, answer, commit, flush
    }

    let id: Int
    let user: String
    /// The place of its gateway.
    let gateway: Int
    var up: [Up] = []
    /// The changesets that aren't committed yet.
    var uploads: [Received] = []
    /// Answers to uploads that aren't sent yet: a committed changeset may reach its device by the feed before.
    var answers: [Down] = []
    /// The socket's queue, and what the kernel has taken of it.
    private(set) var queue: [Down] = []
    var down: [Down] = []
    private(set) var machine: SubscriptionStateMachine<Download>?
    /// The number of the subscription; every one of the connection has another.
    private(set) var subscription = 0
    private var standing = StandingGrant()
    var following: GrantFollowers<SimulatedGateway.Follower>.Following?
    private(set) var waits: [Wait] = []
    var requests: [Request] = []
    /// Whether live frames are received.
    private(set) var isAttached = false
    /// Whether the grant is being read, or permissions is asked for it.
    var isReadingGrant = false
    var isAsking = false
    /// Whether the session's loop does nothing for now.
    var isStuck = false
    /// Whether the queue has documents.
    private(set) var holdsData = false
    /// Whether nothing is sent because the rights are unknown.
    private var isSuspended = false
    private var isRevoked = false
    /// The gateway's clock, in milliseconds since 1970.
    var wallTime: Int64 = 0
    /// When the grant has to be asked for again; `nil` if it holds until it is replaced.
    private var renewalTime: Int64?
    /// How many times changes were queued.
    private(set) var sentDownloads = 0
    /// After what chunks have to be read.
    var reading: [ResumePoint] = []
    /// Chunks that were read, and haven't arrived yet.
    var late: [CatchUpChunk<Download>] = []
    /// The gateway has ended the session.
    private(set) var isEnded = false
    /// What the gateway did that it never may.
    private(set) var violations: [String] = []
    /// The revision up to which frames were sent since `subscribe`; `nil` before the first.
    private var sentTo: Revision?
    private var start = EpochHistory.beginning

    /// How many milliseconds before its end a grant is asked for again.
    private static let renewalLead: Int64 = 10
    /// How many changes may wait in the socket.
    static let window = 6
    /// How many changes a chunk or a frame has at the most.
    static let largest = 5
    /// How many changes of an unfinished commit are held.
    static let unfinished = 2

    init(id: Int, user: String, gateway: Int) {
        self.id = id
        self.user = user
        self.gateway = gateway
    }

    /// How many changes wait in the socket.
    private(set) var queued = 0

    func choices(isReadingSlowly: Bool, isSlow: Bool) -> [Choice] {
        var choices: [Choice] = []
        if !up.isEmpty { choices.append(.arriveUp) }
        if !down.isEmpty { choices.append(.arriveDown) }
        if !reading.isEmpty { choices.append(.startRead) }
        if !late.isEmpty, !isReadingSlowly { choices.append(.endRead) }
        if isReadingGrant { choices.append(.readGrant) }
        if !answers.isEmpty { choices.append(.answer) }
        if !uploads.isEmpty { choices.append(.commit) }
        if !queue.isEmpty, !isSlow { choices.append(.flush) }
        return choices
    }

    // MARK: The subscription

    /// Whether the gateway believes that the user may read.
    var isServing: Bool { machine.map { $0.access != .none } ?? false }

    /// The device has asked for the partition.
    func subscribe(from point: ResumePoint, epoch: Int32, mayServe: Bool) {
        unsubscribe()
        var machine = SubscriptionStateMachine<Download>(from: point, epoch: epoch, window: Self.window)
        var actions = machine.start()
        isSuspended = !mayServe
        if isSuspended { actions += machine.suspend() }
        self.machine = machine
        subscription += 1
        standing = StandingGrant()
        renewalTime = nil
        (start, sentTo, reading, late) = (point.revision, nil, [], [])
        answers = []
        (isReadingGrant, isAsking, isRevoked) = (false, false, false)
        perform(actions)
    }

    func unsubscribe() { perform(machine?.unsubscribe() ?? []) }

    /// Takes a grant that was read from Postgres.
    func read(_ grant: SimulatedPermissions.Grant, mayServe: Bool) {
        if standing.take(version: grant.version, expires: grant.expires, isForEveryone: grant.isForEveryone) {
            changed(to: grant, mayServe: mayServe)
        }
    }

    /// Takes a grant that came by the topic.
    func hear(_ grant: SimulatedPermissions.Grant, mayServe: Bool) {
        let effect = standing.hear(
            grant.access, version: grant.version, expires: grant.expires, isForEveryone: grant.isForEveryone)
        switch effect {
        case .none: break
        case .replaced: changed(to: grant, mayServe: mayServe)
        case .lapsed: close()
        }
        // The answer to a question says only that there is something to read.
        guard isAsking, !grant.isForEveryone || grant.access != .none else { return }
        isAsking = false
        if grant.access == .none { read(grant, mayServe: mayServe) } else { isReadingGrant = true }
    }

    /// Closes the partition, which the device opens again.
    private func close() {
        guard let machine, !machine.isClosed else { return }
        unsubscribe()
        queue(.closed)
    }

    private func changed(to grant: SimulatedPermissions.Grant, mayServe: Bool) {
        guard let machine, !machine.isClosed else { return }
        if let expires = grant.expires, grant.access != .none { renewalTime = expires - Self.renewalLead }
        rightsChanged(mayServe: mayServe)
        perform(self.machine?.granted(grant.access) ?? [])
    }

    /// The version of the grant by which it is served.
    var grantVersion: Revision? { standing.version }

    /// Whether the grant has to be asked for again.
    func isRenewalDue(at now: Int64) -> Bool {
        guard let renewalTime, let machine, !machine.isClosed else { return false }
        return renewalTime <= now && standing.isRenewalDue(lead: Self.renewalLead, now: now)
    }

    /// The grant is asked for again, and serves nothing after its end.
    /// - Returns: Whether it has ended.
    func renew(mayServe: Bool) -> Bool {
        rightsChanged(mayServe: mayServe)
        renewalTime = standing.nextRenewal(lead: Self.renewalLead, now: wallTime)
        return standing.expiry.map { $0 <= wallTime } ?? false
    }

    /// The lease has lapsed, or is valid again.
    func rightsChanged(mayServe: Bool) {
        guard machine != nil else { return }
        // Whatever the code that is tested says.
        isSuspended = !mayServe || standing.expiry.map { $0 <= wallTime } ?? false
        if standing.holds(leaseIsValid: mayServe, now: wallTime) {
            perform(machine?.resume(queued: queued) ?? [])
        } else {
            perform(machine?.suspend() ?? [])
            whenDrained(.nothing)
        }
    }

    func received(_ frame: LiveFrame<Download>) { perform(machine?.received(frame, queued: queued) ?? []) }

    func chunkRead(_ chunk: CatchUpChunk<Download>) {
        perform(machine?.chunkRead(chunk, queued: queued) ?? [])
    }

    private func perform(_ actions: [SubscriptionStateMachine<Download>.Action]) {
        for action in actions {
            switch action {
            case .requestGrant:
                requests.append(.follow)
                isReadingGrant = true
            case .attach:
                isAttached = true
                perform(machine?.attached(queued: queued) ?? [])
            case .readChunk(let after, _): reading.append(after)
            case .sendSubscribed(let access, _, let lastVersion):
                queue(.subscribed(access, lastVersion: lastVersion))
            case .sendChunk(let chunk, let progress, let resume):
                var download = chunk.payload
                download.catchUp?.progress = progress
                download.catchUp?.isFinal = chunk.isFinal
                download.catchUp?.resume = resume?.text
                send(download)
            case .sendFrame(let download): send(download)
            case .sendAccess(let access): queue(.access(access))
            case .sendRevoked:
                isRevoked = true
                queue(.revoked)
            case .detach, .sendUnavailable: detach()
            case .sendSuspended: break
            case .endSession: isEnded = true
            }
        }
    }

    private func detach() {
        isAttached = false
        (isReadingGrant, isAsking) = (false, false)
        guard let following else { return }
        self.following = nil
        // Until then the session has to answer for what it had of the partition.
        whenDrained(.stopFollowing(following))
    }

    /// Sends changes, and checks that they continue what was sent, within the bounds, to somebody who may read them.
    private func send(_ download: Download) {
        if isRevoked { violations.append("changes are sent after the right was revoked") }
        if isSuspended { violations.append("changes are sent while the rights are unknown") }
        let before = sentTo ?? start
        if download.catchUp != nil {
            if download.from != before { violations.append("a chunk follows \(download.from), sent was \(before)") }
        } else {
            if download.from > before { violations.append("a frame follows \(download.from), sent was \(before)") }
            if download.to <= before { violations.append("a frame repeats \(download.to)") }
        }
        sentTo = download.to
        sentDownloads += 1
        holdsData = true
        queued += Self.size(of: download)
        queue(.download(download))
        if queued > Self.window + Self.largest + Self.unfinished {
            violations.append("\(queued) changes wait in the socket")
        }
    }

    private static func size(of download: Download) -> Int { max(download.changes.count, 1) }

    // MARK: The socket

    func queue(_ frame: Down) { queue.append(frame) }

    /// Gives the kernel the next frame.
    func flush() -> Down {
        let frame = queue.removeFirst()
        if case .download(let download) = frame { queued -= Self.size(of: download) }
        down.append(frame)
        guard queue.isEmpty else { return frame }
        holdsData = false
        releaseWaiting()
        perform(machine?.drained() ?? [])
        return frame
    }

    func whenDrained(_ wait: Wait) {
        if queue.isEmpty { requests.append(.release(wait)) } else { waits.append(wait) }
    }

    private func releaseWaiting() {
        requests += waits.map { .release($0) }
        waits = []
    }

    /// The connection has ended.
    func end() {
        queue = []
        queued = 0
        unsubscribe()
        releaseWaiting()
    }
}

import AppDefinition
import DocumentModel
import DocumentStore
import EventLoop
import EventTopics
import Foundation
import Grants
import Logging
import ServiceEngines
import SyncEngine
import SyncProtocol
import WebSocket

/// One partition that a device has open: performs the actions of the subscription's state machine.
///
/// `@unchecked Sendable`: confined to the loop of its session.
final class PartitionSubscription: FeedFollower, GrantHolder, @unchecked Sendable {
    let partition: Partition
    /// Its index in the shard's list of subscriptions.
    var slot: Int?
    /// Retained until the end of the session, since sending a frame may close the socket meanwhile.
    private let session: DeviceSession
    private let path: DownloadPath
    private let checkpoint: Revision
    private let token: ResumeToken?
    private let holdings: Holdings?
    /// How they compare with what the store has.
    private var comparison: Holdings.Comparison?
    private var machine: SubscriptionStateMachine<FeedPayload>?
    private var following: GrantBook.Following?
    private var grant = StandingGrant()
    private var isEnded = false
    /// Whether there is certainly something to read.
    private var isBehind = false

    /// - Parameters:
    ///   - checkpoint: The revision up to which the device shows the partition.
    ///   - token: Where its catch-up was cut.
    ///   - holdings: What it shows, when it wants that to be compared.
    init(
        _ partition: Partition, checkpoint: Revision, resuming token: ResumeToken?, holding holdings: Holdings?,
        session: DeviceSession
    ) {
        self.partition = partition
        self.checkpoint = checkpoint
        self.token = token
        self.holdings = holdings
        self.session = session
        path = session.context.downloads
    }

    private var key: PartitionKey { PartitionKey(app: session.app, partition: partition) }
    private var loop: EventLoop { session.shard.loop }

    /// Determines the revision from which the device has to be served, then starts the state machine.
    func start() {
        let app = session.app, user = session.identity.map { ExactText($0.user) }
        run { [self, path, checkpoint, token] in
            guard let (history, head) = try await history(app: ExactText(app), user: user) else { return }
            path.epoch.saw(history.current)
            guard !isEnded else { return }
            comparison = await compare(at: head)
            guard !isEnded else { return }
            let isDifferent = comparison == .different
            isBehind = isDifferent || checkpoint < head
            let point = history.resumePoint(
                for: isDifferent ? EpochHistory.beginning : checkpoint, resuming: token, head: head)
            var machine = SubscriptionStateMachine<FeedPayload>(
                from: point, epoch: history.current, window: path.window)
            var actions = machine.start()
            if !path.lease.mayServe() { actions += machine.suspend() }
            self.machine = machine
            perform(actions)
        }
    }

    /// The epochs of the partition and its head, read in the user's turn; `nil` if the partition was closed while it waited for that.
    private func history(app: ExactText, user: ExactText?) async throws -> (EpochHistory, Revision)? {
        try await path.openings.enter(app, member: user)
        defer { path.openings.leave(app, member: user) }
        guard !isEnded else { return nil }
        guard let opened = try await path.histories.value(of: key) else {
            throw DocumentStoreError(.corruptRow, "no epoch")
        }
        return opened
    }

    /// Compares what a device holds that shows the head, if it asks for that and hasn't staged anything newer.
    private func compare(at head: Revision) async -> Holdings.Comparison? {
        guard let holdings, token == nil, checkpoint == head, let identity = session.identity else { return nil }
        do {
            let comparison = try await path.holdings.compare(holdings, at: head, of: key, user: identity.user)
            if comparison == .different {
                path.logger.warning(
                    "a device doesn't hold what it should of a partition, and gets it again",
                    metadata: [
                        "partition.id": "\(partition)", "app.id": "\(identity.app)", "user.id": "\(identity.user)",
                        "device.id": "\(identity.device)", "revision": "\(head)",
                    ])
            }
            return comparison
        } catch {
            // It is served all the same: what this read didn't find out may be found out the next time.
            log(error, "what a device holds can't be compared")
            return nil
        }
    }

    func received(_ frame: ChangeFeed.Frame) {
        perform(machine?.received(frame, queued: session.queuedBytes) ?? [])
    }

    func drained() { perform(machine?.drained() ?? []) }

    /// The gateway's lease, or the grant, has expired or is valid again.
    func rightsChanged() {
        let holds = grant.holds(leaseIsValid: path.lease.mayServe(), now: wallTime)
        perform((holds ? machine?.resume(queued: session.queuedBytes) : machine?.suspend()) ?? [])
        // What was queued before is sent soon, or the socket is reset.
        if !holds { session.whenDrained {} }
    }

    /// Milliseconds since 1970.
    var wallTime: Int64 { path.clock.now() }

    func unsubscribe() {
        perform(machine?.unsubscribe() ?? [])
        end()
    }

    private func perform(_ actions: [SubscriptionStateMachine<FeedPayload>.Action]) {
        for action in actions {
            switch action {
            case .requestGrant: requestGrant()
            case .sendSubscribed(let access, let head, let lastVersion):
                session.send(
                    .subscribed(
                        .init(
                            partition: partition, access: access, head: head, lastVersion: lastVersion,
                            holds: comparison)))
            case .sendAccess(let access): session.send(.access(partition: partition, access))
            case .sendSuspended:
                session.fail(
                    .init(
                        code: .suspended,
                        message:
                            "it can't be decided now whether the user may still read; the partition resumes by itself",
                        partition: partition))
            case .sendUnavailable:
                session.fail(
                    .init(
                        code: .permissionsUnavailable, message: "it can't be decided now who may open the partition",
                        partition: partition, retryAfter: DeviceSession.pause()))
            case .attach:
                session.shard.attach(self, to: key)
                perform(machine?.attached(queued: session.queuedBytes) ?? [])
            case .readChunk(let point, let counts): readChunk(after: point, counts: counts)
            case .sendChunk(let chunk, let progress, let resume): send(chunk, progress, resume)
            case .sendFrame(.changes(let download)): session.send(data: download.frame(isCompact: session.readsCompact))
            case .sendFrame(.announcement), .sendFrame(.chunk): break  // chunks are sent by `sendChunk`
            case .sendRevoked(let reason):
                session.send(.revoked(partition: partition, reason: reason))
            case .detach: detach()
            case .endSession: session.shutDown()
            }
        }
        if machine?.isClosed == true { end() }
    }

    // MARK: The grant

    private func requestGrant() {
        guard let claims = session.claims, let device = session.identity?.device else { return }
        let app = session.app, user = claims.user
        // Until the session has sent what it had of the partition: it has to answer for that.
        following = path.grants.follow(app: app, user: user, partition: partition) { [self] grant, answer in
            loop.execute {
                self.heard(grant)
                if let answer { self.session.whenDrained { answer.stopped() } }
            }
        }
        run { [self, path, partition] in
            do {
                let grant = try await path.grants.resolve(
                    app: app, user: user, device: device, partition: partition, claims: RuleUser(claims).claims)
                if let grant { read(grant) } else { perform(machine?.grantUnavailable() ?? []) }
            } catch let exceeded as QuestionBudget.Exceeded {
                refuse(exceeded)
            }
        }
    }

    /// Closes the partition; the device asks again later.
    private func refuse(_ exceeded: QuestionBudget.Exceeded) {
        guard !isEnded else { return }
        session.fail(
            .init(
                code: .tooManyQuestions, message: exceeded.message, partition: partition,
                retryAfter: exceeded.wait))
        end()
    }

    /// Takes a grant that was read from Postgres, or the refusal of a question.
    private func read(_ grant: Grant) {
        guard !isEnded,
            self.grant.take(version: grant.version, expires: grant.expires, isForEveryone: grant.isForEveryone)
        else { return }
        changed(to: grant)
    }

    /// Takes a grant that came by the topic.
    private func heard(_ grant: Grant) {
        guard !isEnded else { return }
        let effect = self.grant.hear(
            Access(grant.access), version: grant.version, expires: grant.expires, isForEveryone: grant.isForEveryone)
        switch effect {
        case .none: break
        case .replaced: changed(to: grant)
        case .lapsed: lapse()
        }
    }

    /// Closes the partition, since the rules aren't the same for all users any more: the device keeps its data, opens the partition again, and
    /// the user gets a grant, or a refusal, of their own.
    private func lapse() {
        session.fail(
            .init(
                code: .permissionsUnavailable, message: "it is decided anew who may open the partition",
                partition: partition, retryAfter: DeviceSession.pause()))
        unsubscribe()
    }

    private func changed(to grant: Grant) {
        if let expiry = grant.expires, grant.access != .none {
            session.shard.expiries.renew(self, before: expiry)
        }
        rightsChanged()
        perform(machine?.granted(Access(grant.access)) ?? [])
    }

    var heldGrant: StandingGrant? { isEnded || session.claims == nil ? nil : grant }

    var grantKey: ExactText {
        ExactText(GrantsEvent.key(app: session.app, user: session.claims?.user ?? "", partition: partition))
    }

    func askForGrant() {
        guard let claims = session.claims else { return }
        path.grants.askInBackground(
            app: session.app, user: claims.user, partition: partition, claims: RuleUser(claims).claims)
    }

    // MARK: The catch-up

    private func readChunk(after point: ResumePoint, counts: Bool) {
        // Most devices that open a partition again have everything, and all of them when the gateway was suspended for a moment. A partition
        // that is opened for the first time mostly has nothing.
        guard counts, !isBehind, let identity = session.identity else {
            return readDocuments(after: point, counts: counts)
        }
        run { [self, path, partition] in
            let standing = try await path.standings.value(
                of: .init(app: identity.app, partition: partition, user: identity.user, device: identity.device))
            guard !isEnded else { return }
            guard let standing, let nothing = CatchUp(after: point.revision, standing) else {
                return readDocuments(after: point, counts: counts)
            }
            path.epoch.saw(standing.epoch)
            chunkRead(nothing)
        }
    }

    private func readDocuments(after point: ResumePoint, counts: Bool) {
        isBehind = false
        session.read(partition) { [self] in startReading(after: point, counts: counts) }
    }

    private func chunkRead(_ read: CatchUp) {
        let size = read.entries.reduce(256) { $0 + ($1.body?.count ?? 0) + 160 }
        let chunk = CatchUpChunk<FeedPayload>(
            from: read.from, to: read.to, head: read.head, count: read.entries.count, remaining: read.remaining,
            lastVersion: read.lastVersion, epoch: read.epoch, tombstoneHorizon: read.tombstoneHorizon,
            byteCount: size, payload: .chunk(read))
        perform(machine?.chunkRead(chunk, queued: session.queuedBytes) ?? [])
    }

    private func startReading(after point: ResumePoint, counts: Bool) {
        guard !isEnded, let identity = session.identity else { return session.readEnded() }
        run { [self, path, partition] in
            defer { session.readEnded() }
            guard let read = try await documents(of: identity, after: point, counts: counts) else { return }
            path.epoch.saw(read.epoch)
            chunkRead(read)
        }
    }

    /// A chunk, read in the user's turn; `nil` if the partition was closed while it waited for that.
    private func documents(
        of identity: ConnectionIdentity, after point: ResumePoint, counts: Bool
    ) async throws -> CatchUp? {
        let app = ExactText(identity.app), user = ExactText(identity.user)
        try await path.reads.enter(app, member: user, isCounted: false)
        defer { path.reads.leave(app, member: user) }
        guard !isEnded else { return nil }
        return try await path.store.catchUp(
            app: identity.app, partition: partition, from: point.revision, deletionsAfter: point.horizon,
            user: identity.user, device: identity.device, counts: counts)
    }

    private func send(_ chunk: CatchUpChunk<FeedPayload>, _ progress: CatchUpProgress, _ resume: ResumeToken?) {
        guard case .chunk(let read) = chunk.payload else { return }
        var encoder = DownloadEncoder(
            partition: partition, from: chunk.from, isCompact: session.readsCompact, capacity: chunk.byteCount)
        for entry in read.entries {
            encoder.append(
                collection: entry.collection, idText: entry.idText, revision: entry.revision,
                incarnation: entry.incarnation, body: entry.body)
        }
        let bytes = encoder.finish(
            to: chunk.to,
            catchUp: .init(
                isFinal: chunk.isFinal, lastVersion: chunk.lastVersion, progress: progress, resume: resume?.text))
        session.send(data: WebSocketFrame(download: bytes))
    }

    // MARK: The end

    private func detach() {
        session.shard.detach(self, from: key)
        guard let following else { return }
        self.following = nil
        // Not urgent: the client may be slow, and its other partitions are open. A revocation that comes meanwhile is.
        session.whenDrained(isUrgent: false) { [path] in path.grants.stop(following) }
    }

    private func end() {
        guard !isEnded else { return }
        isEnded = true
        detach()
        session.forget(partition)
    }

    /// Many devices may meet one cause.
    private func log(_ error: any Error, _ message: Logger.Message) {
        let isNew = path.failures.withLock { $0.isNew("\(error)", again: .seconds(10)) }
        path.logger.log(
            level: isNew ? .warning : .debug, message,
            metadata: ["partition.id": "\(partition)", "error": "\(error)"])
    }

    /// Runs asynchronous work and returns to the loop. A failure ends the subscription; the device subscribes again.
    private func run(_ work: @escaping @Sendable () async throws -> Void) {
        let session = session
        // Short: it ends with a query or an answer, and has no effect when the session has ended meanwhile.
        Task(executorPreference: loop.taskExecutor) { [self] in
            do {
                try await work()
            } catch {
                log(error, "a partition can't be served")
                guard !isEnded else { return }
                session.fail(
                    .init(
                        code: .unavailable, message: "the partition can't be read now", partition: partition,
                        retryAfter: DeviceSession.pause()))
                end()
            }
        }
    }
}

extension Access {
    init(_ access: Grant.Access) { self = Access(rawValue: access.rawValue) ?? .none }
}

import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Lifecycle
import Logging
import Presence
import SyncEngine
import SyncProtocol

/// Renews the leases of the devices that are connected here, publishes when users come and go and the presence that they set, and
/// sends devices the presence of the users that they watch.
///
/// A gateway that stops gracefully lets the leases expire: its devices connect again before that, so that no user flips to offline.
final class PresenceKeeper: Service {
    private struct Watcher {
        /// A copy of the session's user: sessions are confined to their loops, and reports arrive on other threads.
        let user: String
        let session: DeviceSession
    }

    /// What is known here of a user whom somebody watches.
    private struct Watched {
        /// By the ids of their sessions.
        var watchers: [ExactText: Watcher] = [:]
        /// The version of the newest flip that was heard. Gateways publish beside each other, so an older one may come later.
        var version = Int64.min
    }

    private struct State {
        var members: [PresenceMember: Int] = [:]
        /// Devices that have connected here, and whose lease isn't this gateway's yet: they get it immediately.
        var fresh: Set<PresenceMember> = []
        /// The number of renewals in flight to Redis.
        var renewals = 0
        /// Devices that have left during a renewal, which may have given them a new lease.
        var left: Set<PresenceMember> = []
        var watched: [ExactText: Watched] = [:]
        /// The users that a session watches, so that its end costs no more than their number.
        var lists: [ExactText: [String]] = [:]
        /// The presence that devices have set, by the ids of their sessions.
        var speeches: [PresenceMember: [ExactText: Speech]] = [:]
        var isStopping = false

        mutating func watch(_ users: [String], by watcher: Watcher) {
            let id = watcher.session.id
            // First, so that what was heard of a user who stays in the list isn't forgotten.
            for user in users { watched[user, default: Watched()].watchers[id] = watcher }
            unwatch(session: id, except: Set(users.map { ExactText($0) }))
            if !users.isEmpty { lists[id] = users }
        }

        mutating func unwatch(session: String, except kept: Set<ExactText> = []) {
            for user in lists.removeValue(forText: session) ?? [] where !kept.contains(ExactText(user)) {
                watched[user]?.watchers[session] = nil
                if watched[user]?.watchers.isEmpty == true { watched[user] = nil }
            }
        }

        /// Returns whether what the session has said has to be sent now, by whoever calls this: its device counts as online, and watchers
        /// know something else.
        mutating func begins(_ session: String, of member: PresenceMember) -> Bool {
            guard members[member] != nil, let speech = speeches[member]?[session], !speech.isSending,
                speech.told != speech.latest
            else { return false }
            speeches[member]?[session]?.isSending = true
            return true
        }

        /// The sessions of a device for which ``begins(_:of:)`` is true.
        mutating func begin(_ member: PresenceMember) -> [String] {
            (speeches[member] ?? [:]).keys.map(\.text).filter { begins($0, of: member) }
        }

        /// To watchers a flip of a device says that its user is online, or may do so after what is being sent.
        mutating func noteFlip(of member: PresenceMember) {
            for session in (speeches[member] ?? [:]).keys {
                guard var speech = speeches[member]?[session] else { continue }
                speech.told = speech.isSending ? nil : .online
                speech.flips += 1
                speeches[member]?[session] = speech
            }
        }

        /// The sessions that have to hear this of a user: none if it is a flip, and not newer than one that was heard before.
        mutating func hear(_ presence: PresenceEvent, of user: String) -> [Watcher] {
            guard let known = watched[user] else { return [] }
            if presence.state != .said {
                guard presence.version > known.version else { return [] }
                watched[user]?.version = presence.version
            }
            return Array(known.watchers.values)
        }
    }

    /// The presence that a device has set for its user. Only the newest is kept: an older one that wasn't published yet never is.
    struct Words: Equatable {
        @ExactText var state: String
        var data: Document?

        static let online = Words(state: PresenceEvent.State.online.rawValue)
    }

    private struct Speech {
        /// What watchers were told last; `nil` while that is unknown: the user's device may have said something in a former session.
        var told: Words?
        var latest: Words
        var isSending = false
        /// The device's flips that were published meanwhile.
        var flips = 0
    }

    private let leases: PresenceLeases
    private let flips: FlipPublisher
    private let renewal: FailureReport
    private let rights: WatchRights
    private let producer: EventProducer
    private let interval: Duration
    private let clock: WallClock
    private let logger: Logger
    private let state = Locked(State())
    private let background = BackgroundTasks()
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    private static let retries = RetrySchedule(limit: .seconds(2))
    /// How long after its last connection a device has left: it may be opening another one, here or with another gateway.
    static let pause = Duration.milliseconds(200)
    /// Leases in one round trip.
    private static let batch = 1000

    /// - Parameter interval: how often leases are renewed; a third of their time.
    init(
        leases: PresenceLeases, rights: WatchRights, producer: EventProducer, interval: Duration, clock: WallClock,
        logger: Logger
    ) {
        self.leases = leases
        flips = FlipPublisher(leases: leases, producer: producer, logger: logger)
        renewal = FailureReport("presence-leases", logger: logger)
        self.rights = rights
        self.producer = producer
        self.interval = interval
        self.clock = clock
        self.logger = logger
        // One pending wake-up is enough.
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// A session's device has connected, or is heard again.
    func join(_ member: PresenceMember) {
        let begun = state.withLock { state in
            state.members[member, default: 0] += 1
            state.fresh.insert(member)
            return state.begin(member)
        }
        wake.yield()
        for session in begun { tell(of: member, session: session) }
    }

    /// A session that had joined has ended, or its device is silent.
    /// - Parameter keepsLease: whether its user counts as online until the lease expires.
    func leave(_ member: PresenceMember, keepsLease: Bool) {
        let isLast = state.withLock { state in
            let left = (state.members[member] ?? 1) - 1
            state.members[member] = left > 0 ? left : nil
            if left <= 0 { state.fresh.remove(member) }
            return left <= 0 && !state.isStopping && !keepsLease
        }
        guard isLast else { return }
        background.add {
            try? await Task.sleep(for: Self.pause)  // cancelled at the end, when leases are kept
            let isGone = self.state.withLock { state in
                guard state.members[member] == nil, !state.isStopping else { return false }
                if state.renewals > 0 { state.left.insert(member) }
                return true
            }
            // When it fails, the lease runs out by itself.
            if isGone { await self.end(member) }
        }
    }

    /// The session has ended: forgets what it watched and set.
    func forget(session: String, of member: PresenceMember) {
        state.withLock { state in
            state.unwatch(session: session)
            state.speeches[member]?[session] = nil
            if state.speeches[member]?.isEmpty == true { state.speeches[member] = nil }
        }
    }

    /// Sets the users whose presence the session's device receives from now on.
    func watch(_ users: [String]?, session: DeviceSession) {
        guard let users, let identity = session.identity else { return }
        let keys = users.prefix(1000).map { "\(identity.app)/\($0)" }
        state.withLock { $0.watch(keys, by: Watcher(user: identity.user, session: session)) }
    }

    /// Publishes the presence that a session's device sets for its user, as soon as Kafka takes it, and again when the device has come
    /// back online: to watchers that says that the user is `online`.
    func say(_ words: Words, of member: PresenceMember, session: String) {
        let begins = state.withLock { state in
            state.speeches[member, default: [:]][session, default: Speech(latest: words)].latest = words
            return state.begins(session, of: member)
        }
        if begins { tell(of: member, session: session) }
    }

    private func tell(of member: PresenceMember, session: String) {
        background.add {
            var backoff = RetryBackoff(Self.retries)
            while let (words, flips) = self.nextWords(of: member, session: session) {
                let now = self.clock.now()
                do {
                    try await self.producer.send(
                        PresenceEvent(
                            app: member.app, user: member.user, device: member.device, state: .said,
                            isUserOnline: true, lastSeen: now, version: now, word: words.state, data: words.data))
                    backoff.reset()
                    self.state.withLock { state in
                        // After a flip that was published at the same time nobody knows which of them came last.
                        guard state.speeches[member]?[session]?.flips == flips else { return }
                        state.speeches[member]?[session]?.told = words
                    }
                } catch {
                    self.logger.debug("a user's presence wasn't published", metadata: ["error": "\(error)"])
                    let wait = backoff.next()
                    // Interrupted: the gateway stops, and the device says it to another one.
                    do { try await cancelWhenGracefulShutdown { try await Task.sleep(for: wait) } } catch { return }
                }
            }
        }
    }

    /// What to send next, and the number of flips before it; `nil` when there is nothing more.
    private func nextWords(of member: PresenceMember, session: String) -> (Words, flips: Int)? {
        state.withLock { state in
            guard let speech = state.speeches[member]?[session] else { return nil }
            guard state.members[member] != nil, speech.latest != speech.told else {
                state.speeches[member]?[session]?.isSending = false
                return nil
            }
            return (speech.latest, speech.flips)
        }
    }

    private func published(_ flips: [PresenceFlip]) {
        let begun = state.withLock { state in
            flips.flatMap { flip in
                state.noteFlip(of: flip.member)
                return state.begin(flip.member).map { (flip.member, $0) }
            }
        }
        for (member, session) in begun { tell(of: member, session: session) }
    }

    /// Handles messages of the topic, and returns when they were passed to the sessions that may receive them.
    func handle(_ events: [RawEvent<PresenceEvent>]) async {
        var heard: [(presence: PresenceEvent, watchers: [Watcher])] = []
        for event in events {
            guard state.withLock({ $0.watched[event.key] != nil }), let presence = try? event.decoded().payload
            else { continue }  // no session here watches the user, or the message can't be read
            heard.append((presence, state.withLock { $0.hear(presence, of: event.key) }))
        }
        guard !heard.isEmpty else { return }
        let allowed = await allowed(
            Set(heard.flatMap { presence, watchers in watchers.map { pair(presence, $0) } }))
        for (presence, watchers) in heard {
            let frame = GatewayFrame.presence(
                .init(
                    user: presence.user, state: presence.word ?? (presence.isUserOnline ? "online" : "offline"),
                    lastSeen: presence.lastSeen, data: presence.data))
            for watcher in watchers where allowed.contains(pair(presence, watcher)) {
                watcher.session.shard.loop.execute { watcher.session.send(frame) }
            }
        }
    }

    private func pair(_ presence: PresenceEvent, _ watcher: Watcher) -> WatchRights.Pair {
        WatchRights.Pair(app: presence.app, watcher: watcher.user, user: presence.user)
    }

    /// The pairs in which the watcher may receive the user's presence. While Postgres is unavailable this is unknown, and the
    /// reports wait.
    private func allowed(_ pairs: Set<WatchRights.Pair>) async -> Set<WatchRights.Pair> {
        var backoff = RetryBackoff(Self.retries)
        while !state.withLock({ $0.isStopping }), !Task.isCancelled {
            do {
                return try await rights.allowed(pairs)
            } catch {
                logger.debug("the rights to watch users can't be read now", metadata: ["error": "\(error)"])
                // Interrupted: the condition ends it.
                let wait = backoff.next()
                try? await cancelWhenGracefulShutdown { try await Task.sleep(for: wait) }
            }
        }
        return []
    }

    func run() async throws {
        await withGracefulShutdownHandler {
            await withTaskGroup { group in
                group.addTask { await self.renewAll() }
                group.addTask { await self.leaseFresh() }
                group.addTask { await self.flips.run { self.published($0) } }
                group.addTask { try? await self.background.run() }  // never throws
            }
        } onGracefulShutdown: {
            self.state.withLock { $0.isStopping = true }
            self.wake.finish()
            self.flips.finish()
        }
    }

    private func leaseFresh() async {
        for await _ in wakes { await takeFresh() }
    }

    private func takeFresh() async {
        let members = state.withLock { state in
            defer { state.fresh = [] }
            return Array(state.fresh)
        }
        if await !refresh(members, joining: true) {
            state.withLock { state in state.fresh.formUnion(members.filter { state.members[$0] != nil }) }
        }
    }

    private func renewAll() async {
        while !state.withLock({ $0.isStopping }), !Task.isCancelled {
            // Interrupted: the condition ends it.
            try? await cancelWhenGracefulShutdown { [interval] in try await Task.sleep(for: interval) }
            await takeFresh()  // those that failed
            let members = state.withLock { Array($0.members.keys) }
            for start in stride(from: 0, to: members.count, by: Self.batch) {
                _ = await refresh(Array(members[start..<min(start + Self.batch, members.count)]), joining: false)
            }
        }
    }

    /// - Returns: whether the leases were renewed. The next round tries the others again.
    private func refresh(_ members: [PresenceMember], joining: Bool) async -> Bool {
        let members = state.withLock { state in
            state.renewals += 1
            return members.filter { state.members[$0] != nil }
        }
        let isRenewed = await renew(members, joining: joining)
        let late = state.withLock { state in
            state.renewals -= 1
            defer { if state.renewals == 0 { state.left = [] } }
            return members.filter { state.left.contains($0) && state.members[$0] == nil }
        }
        for member in late { await end(member) }
        return isRenewed
    }

    private func renew(_ members: [PresenceMember], joining: Bool) async -> Bool {
        guard !members.isEmpty else { return true }
        do {
            flips.publish(try await leases.refresh(members, joining: joining))
            renewal.succeeded("leases are renewed again")
            return true
        } catch {
            renewal.failed("leases were not renewed", error, metadata: ["count": "\(members.count)"])
            return false
        }
    }

    private func end(_ member: PresenceMember) async {
        do {
            if let flip = try await leases.leave(member) {
                try await producer.send(PresenceEvent(flip, why: .left))
                try await leases.confirm([member])
            }
        } catch {
            logger.debug("a lease will be ended by a worker", metadata: ["error": "\(error)"])
        }
        // The device may have reconnected meanwhile, and this has removed the lease of its new connection.
        let isBack = state.withLock { state in
            guard state.members[member] != nil else { return false }
            state.fresh.insert(member)
            return true
        }
        if isBack { wake.yield() }
    }
}

extension PresenceEvent {
    /// The event of a flip.
    init(_ flip: PresenceFlip, why: Why? = nil) {
        self.init(
            app: flip.member.app, user: flip.member.user, device: flip.member.device,
            state: flip.isOnline ? .online : .offline,
            why: why, isUserOnline: flip.isUserOnline, lastSeen: flip.time, version: flip.version)
    }
}

import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Lifecycle
import Logging
import Presence
import SyncEngine
import SyncProtocol

/// Keeps the leases of the devices that are connected here, announces who comes, who goes and what they say, and tells devices of the
/// users that they watch.
///
/// A gateway that ends in order leaves the leases to run out: its devices connect again before that, and nobody flips.
final class PresenceKeeper: Service {
    private struct Watcher {
        /// The session's own: sessions are their loop's, and reports come elsewhere.
        let user: String
        let session: DeviceSession
    }

    private struct State {
        var members: [PresenceMember: Int] = [:]
        /// Not renewed yet: they get their lease at once.
        var fresh: Set<PresenceMember> = []
        /// Renewals that Redis hasn't answered.
        var renewals = 0
        /// Those who have left meanwhile: a renewal that was under way may have given them a new lease.
        var left: Set<PresenceMember> = []
        /// The sessions that watch a user, by their ids.
        var watchers: [ExactText: [ExactText: Watcher]] = [:]
        /// The users that a session watches: its end costs no more than those.
        var watched: [ExactText: [String]] = [:]
        /// What devices say, by session.
        var speeches: [ExactText: Speech] = [:]
        var isStopping = false

        mutating func watch(_ users: [String], by watcher: Watcher) {
            let id = watcher.session.id
            unwatch(session: id)
            guard !users.isEmpty else { return }
            for user in users { watchers[user, default: [:]][id] = watcher }
            watched[id] = users
        }

        mutating func unwatch(session: String) {
            for user in watched.removeValue(forText: session) ?? [] {
                watchers[user]?[session] = nil
                if watchers[user]?.isEmpty == true { watchers[user] = nil }
            }
        }
    }

    /// A user's own words. Only the newest are kept: those before them that aren't sent yet never are.
    struct Words: Equatable {
        @ExactText var state: String
        var data: Document?
    }

    private struct Speech {
        /// What everybody takes for granted of who is connected.
        var told = Words(state: PresenceEvent.State.online.rawValue)
        var latest = Words(state: PresenceEvent.State.online.rawValue)
        var isSending = false
    }

    private let leases: PresenceLeases
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
    /// Leases in one round trip.
    private static let batch = 1000

    /// - Parameter interval: how often leases are renewed; a third of their time.
    init(
        leases: PresenceLeases, rights: WatchRights, producer: EventProducer, interval: Duration, clock: WallClock,
        logger: Logger
    ) {
        self.leases = leases
        self.rights = rights
        self.producer = producer
        self.interval = interval
        self.clock = clock
        self.logger = logger
        // One pending wake-up is as good as many.
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// A session's device is there.
    func join(_ member: PresenceMember) {
        state.withLock { state in
            state.members[member, default: 0] += 1
            state.fresh.insert(member)
        }
        wake.yield()
    }

    /// A session that had joined has ended, or nothing is heard of its device.
    /// - Parameter keepsLease: its user counts as online until the lease runs out.
    func leave(_ member: PresenceMember, keepsLease: Bool) {
        let isLast = state.withLock { state in
            let left = (state.members[member] ?? 1) - 1
            state.members[member] = left > 0 ? left : nil
            state.fresh.remove(member)
            guard left <= 0, !state.isStopping, !keepsLease else { return false }
            if state.renewals > 0 { state.left.insert(member) }
            return true
        }
        guard isLast else { return }
        // When it fails, the lease runs out by itself.
        background.add { await self.end(member) }
    }

    /// The session has ended: what it watched and said is over.
    func forget(session: DeviceSession) {
        state.withLock { state in
            state.unwatch(session: session.id)
            state.speeches[session.id] = nil
        }
    }

    /// The users whose presence the session's device wants to hear of from now on.
    func watch(_ users: [String]?, session: DeviceSession) {
        guard let users, let identity = session.identity else { return }
        let keys = users.prefix(1000).map { "\(identity.app)/\($0)" }
        state.withLock { $0.watch(keys, by: Watcher(user: identity.user, session: session)) }
    }

    /// Tells what the session's device says of its user.
    func say(_ words: Words, session: DeviceSession) {
        guard let identity = session.identity else { return }
        let begins = state.withLock { state in
            var speech = state.speeches[session.id] ?? Speech()
            speech.latest = words
            let begins = !speech.isSending && speech.latest != speech.told
            if begins { speech.isSending = true }
            state.speeches[session.id] = speech
            return begins
        }
        if begins { background.add { await self.tell(of: identity, session: session.id) } }
    }

    private func tell(of identity: ConnectionIdentity, session: String) async {
        while let words = nextWords(of: session) {
            let now = clock.now()
            do {
                try await producer.send(
                    PresenceEvent(
                        app: identity.app, user: identity.user, device: identity.device, state: .said,
                        isUserOnline: true, lastSeen: now, version: now, word: words.state, data: words.data))
            } catch {
                logger.debug("what a user says isn't told", metadata: ["error": "\(error)"])
            }
        }
    }

    private func nextWords(of session: String) -> Words? {
        state.withLock { state in
            guard var speech = state.speeches[session] else { return nil }
            defer { state.speeches[session] = speech }
            guard speech.latest != speech.told else {
                speech.isSending = false
                return nil
            }
            speech.told = speech.latest
            return speech.latest
        }
    }

    /// Takes what came on the topic, and returns when it is with those who may hear of it.
    func handle(_ events: [RawEvent<PresenceEvent>]) async {
        var heard: [(presence: PresenceEvent, watchers: [Watcher])] = []
        for event in events {
            guard let watchers = state.withLock({ $0.watchers[event.key] }), let presence = try? event.decoded().payload
            else { continue }  // nobody here watches the user, or a message that is none
            heard.append((presence, Array(watchers.values)))
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

    /// Who may hear of whom. While Postgres is away nobody can tell, and what there is to hear waits.
    private func allowed(_ pairs: Set<WatchRights.Pair>) async -> Set<WatchRights.Pair> {
        var backoff = RetryBackoff(Self.retries)
        while !state.withLock({ $0.isStopping }), !Task.isCancelled {
            do {
                return try await rights.allowed(pairs)
            } catch {
                logger.debug("who may watch whom can't be told now", metadata: ["error": "\(error)"])
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
                group.addTask { try? await self.background.run() }  // never throws
            }
        } onGracefulShutdown: {
            self.state.withLock { $0.isStopping = true }
            self.wake.finish()
        }
    }

    private func leaseFresh() async {
        for await _ in wakes {
            let members = state.withLock { state in
                defer { state.fresh = [] }
                return Array(state.fresh)
            }
            await refresh(members)
        }
    }

    private func renewAll() async {
        while !state.withLock({ $0.isStopping }), !Task.isCancelled {
            // Interrupted: the condition ends it.
            try? await cancelWhenGracefulShutdown { [interval] in try await Task.sleep(for: interval) }
            let members = state.withLock { Array($0.members.keys) }
            for start in stride(from: 0, to: members.count, by: Self.batch) {
                await refresh(Array(members[start..<min(start + Self.batch, members.count)]))
            }
        }
    }

    private func refresh(_ members: [PresenceMember]) async {
        let members = state.withLock { state in
            state.renewals += 1
            return members.filter { state.members[$0] != nil }
        }
        await renew(members)
        let late = state.withLock { state in
            state.renewals -= 1
            defer { if state.renewals == 0 { state.left = [] } }
            return members.filter { state.left.contains($0) && state.members[$0] == nil }
        }
        for member in late { await end(member) }
    }

    private func renew(_ members: [PresenceMember]) async {
        guard !members.isEmpty else { return }
        do {
            let flips = try await leases.refresh(members)
            if !flips.isEmpty { try await producer.send(flips.map { PresenceEvent($0) }).requireAll() }
        } catch {
            // The next round tries again; a lease that is lost meanwhile is announced anew.
            logger.warning("leases were not renewed", metadata: ["count": "\(members.count)", "error": "\(error)"])
        }
    }

    private func end(_ member: PresenceMember) async {
        do {
            if let flip = try await leases.leave(member) { try await producer.send(PresenceEvent(flip, why: .left)) }
        } catch {
            logger.debug("a lease is left to run out", metadata: ["error": "\(error)"])
        }
        // The device may have come back meanwhile, and lost the lease of its new connection.
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

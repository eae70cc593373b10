import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Foundation
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
    private struct State {
        var members: [PresenceMember: Int] = [:]
        /// Not renewed yet: they get their lease at once.
        var fresh: Set<PresenceMember> = []
        /// The sessions that watch a user, by their ids.
        var watchers: [ExactText: [ExactText: DeviceSession]] = [:]
        /// The users that a session watches: its end costs no more than those.
        var watched: [ExactText: [String]] = [:]
        /// What devices say, by session.
        var speeches: [ExactText: Speech] = [:]
        var isStopping = false

        mutating func watch(_ users: [String], session: DeviceSession) {
            unwatch(session: session.id)
            guard !users.isEmpty else { return }
            for user in users { watchers[user, default: [:]][session.id] = session }
            watched[session.id] = users
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
    private let producer: EventProducer
    private let interval: Duration
    private let logger: Logger
    private let state = Locked(State())
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// Leases in one round trip.
    private static let batch = 1000

    /// - Parameter interval: how often leases are renewed; a third of their time.
    init(leases: PresenceLeases, producer: EventProducer, interval: Duration, logger: Logger) {
        self.leases = leases
        self.producer = producer
        self.interval = interval
        self.logger = logger
        // One pending wake-up is as good as many.
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func join(_ member: PresenceMember, session: DeviceSession) {
        state.withLock { state in
            state.members[member, default: 0] += 1
            state.fresh.insert(member)
        }
        wake.yield()
    }

    /// The session has ended.
    /// - Parameter keepsLease: its user counts as online until the lease runs out.
    func leave(session: DeviceSession, keepsLease: Bool) {
        guard let identity = session.identity else { return }
        let member = PresenceMember(app: identity.app, user: identity.user, device: identity.device)
        let isLast = state.withLock { state in
            state.unwatch(session: session.id)
            state.speeches[session.id] = nil
            let left = (state.members[member] ?? 1) - 1
            state.members[member] = left > 0 ? left : nil
            state.fresh.remove(member)
            return left <= 0 && !state.isStopping
        }
        guard isLast, !keepsLease else { return }
        // Short; and when it fails, the lease runs out by itself.
        Task { await end(member) }
    }

    /// The users whose presence the session's device wants to hear of from now on.
    func watch(_ users: [String]?, session: DeviceSession) {
        guard let users, let app = session.identity?.app else { return }
        let keys = users.prefix(1000).map { "\(app)/\($0)" }
        state.withLock { $0.watch(keys, session: session) }
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
        // Ends with the broker's answer to the newest words.
        if begins { Task { await tell(of: identity, session: session.id) } }
    }

    private func tell(of identity: ConnectionIdentity, session: String) async {
        while let words = nextWords(of: session) {
            let now = Int64(Date().timeIntervalSince1970 * 1000)
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

    /// Takes what came on the topic.
    func handle(_ events: [RawEvent<PresenceEvent>]) {
        for event in events {
            guard let sessions = state.withLock({ $0.watchers[event.key] }), let presence = try? event.decoded().payload
            else { continue }  // nobody here watches the user, or a message that is none
            let frame = GatewayFrame.presence(
                .init(
                    user: presence.user, state: presence.word ?? (presence.isUserOnline ? "online" : "offline"),
                    lastSeen: presence.lastSeen, data: presence.data))
            for session in sessions.values { session.shard.loop.execute { session.send(frame) } }
        }
    }

    func run() async throws {
        await withGracefulShutdownHandler {
            await withTaskGroup { group in
                group.addTask { await self.renewAll() }
                group.addTask { await self.leaseFresh() }
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

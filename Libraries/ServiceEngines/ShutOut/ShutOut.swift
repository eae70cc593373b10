public import AccessTokens
import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Kafka
public import Lifecycle
import Logging
import Postgres

/// The users and sessions whose access tokens are refused although they haven't expired: blocked users, whose account is disabled or
/// deleted, and ended sessions. Kept in the memory of a service that serves users.
///
/// They are read from Postgres at the start. Later ones are reported by Postgres (NOTIFY), which works while the broker is
/// unavailable, and by `auth-events` (see `announcements`), which works while the listening connection is down; a poll finds what
/// both missed. A service that can't reach Postgres continues with what it has. A session is remembered until its last access token
/// has expired.
public final class ShutOut: Service {
    /// Why a token is refused.
    public enum Reason: Sendable { case disabled, deleted, sessionEnded }

    struct User: Hashable, Sendable {
        @ExactText var app: String
        @ExactText var id: String
    }

    /// The longest validity of an access token that settings allow; a blocked user is remembered for this long.
    public static let longestToken = Duration.seconds(86_400)
    /// The interval of the poll, and so the longest delay after which a lost event is noticed.
    private static let pollInterval = Duration.seconds(30)
    /// The pause between attempts while Postgres is unavailable, since no event reports its return.
    private static let pause = Duration.seconds(1)
    /// The longest time that the transaction which ended a session may have been open, so that its row wasn't visible to others.
    private static let longestTransaction = Duration.seconds(60)

    private struct State {
        var users: [User: ShutOutTable.Reason] = [:]
        var sessions = EndedSessions()
        /// Whether users may have been enabled since Postgres was last read, which only a reading of all shows.
        var isWholeDue = true
        /// The time immediately before Postgres was last read.
        var lookedAt: ContinuousClock.Instant?
    }

    private let users: ShutOutTable
    private let sessions: EndedSessionTable
    private let listener: PostgresListener
    private let clock: WallClock
    private let logger: Logger
    private let state = Locked(State())
    private let observer = Locked<(@Sendable () -> Void)?>(nil)
    private let loaded = Milestone()
    private let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation

    /// - Parameter loop: where it listens, on a connection of its own.
    init(client: PostgresClient, loop: EventLoop, clock: WallClock, logger: Logger) {
        self.clock = clock
        // One notification is as good as many.
        listener = PostgresListener(
            configuration: client.configuration, channels: [ShutOutTable.channel], on: loop, bufferSize: 2,
            logger: logger)
        users = ShutOutTable(client)
        sessions = EndedSessionTable(client)
        self.logger = logger
        // One pending wake-up has the same effect as many: each read sees all changes.
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Whether blocked users and ended sessions have been loaded since the start; before that, `reason` may miss some.
    public var isLoaded: Bool { loaded.isReached }

    /// Returns when blocked users and ended sessions have been loaded for the first time.
    /// - Throws: `CancellationError`.
    public func waitUntilLoaded() async throws { try await loaded.wait() }

    /// Returns why an otherwise valid token is refused; `nil` when it isn't. Takes a lock.
    public func reason(_ claims: TokenClaims) -> Reason? {
        state.withLock { state in
            switch state.users.isEmpty ? nil : state.users[User(app: claims.app, id: claims.user)] {
            case .disabled: .disabled
            case .deleted: .deleted
            case nil: state.sessions.contains(claims.session, app: claims.app) ? .sessionEnded : nil
            }
        }
    }

    /// Sets the callback that is called, on any thread, when a user has been blocked or a session has ended.
    public func onShutOut(_ observer: @escaping @Sendable () -> Void) { self.observer.withLock { $0 = observer } }

    /// Keeps them up to date until graceful shutdown or cancellation.
    public func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await self.follow() }
        } catch is CancellationError {
            // It ends by cancellation.
        }
    }

    private func follow() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while true {
                    self.wakeUpForAll()
                    try await Task.sleep(for: Self.pollInterval)
                }
            }
            group.addTask { try await self.listener.run() }
            group.addTask {
                for await event in self.listener.events {
                    if case .notification(let notification) = event, notification.payload.isEmpty {
                        self.wakeUp.yield()
                    } else {
                        self.wakeUpForAll()
                    }
                }
            }
            for await _ in wakeUps {
                while await !look() { try await Task.sleep(for: Self.pause) }
            }
            group.cancelAll()
        }
        try Task.checkCancellation()
    }

    /// Has all users read: some may be enabled.
    private func wakeUpForAll() {
        state.withLock { $0.isWholeDue = true }
        wakeUp.yield()
    }

    private func look() async -> Bool {
        let isWhole = state.withLock { state in
            defer { state.isWholeDue = false }
            return state.isWholeDue
        }
        do {
            let start = ContinuousClock.now
            // Many users may delete their accounts, and many sessions end, so only those since the last read are read.
            let age = state.withLock { $0.lookedAt }.map { start - $0 + Self.longestTransaction }
            let users = try await users.withTokens(blockedWithin: isWhole ? nil : age)
            let ended = try await sessions.withTokens(endedWithin: age)
            let isMore = state.withLock { state in
                let isMore = users.keys.contains { state.users[$0] == nil }
                if isWhole { state.users = users } else { state.users.merge(users) { $1 } }
                state.lookedAt = start
                state.sessions.prune(now: clock.now())
                return state.sessions.add(ended, now: clock.now()) || isMore
            }
            loaded.reach()
            if isMore { observer.withLock { $0 }?() }
            return true
        } catch {
            if isWhole { state.withLock { $0.isWholeDue = true } }
            if !(error is CancellationError) {
                logger.warning("blocked users and ended sessions can't be read", metadata: ["error": "\(error)"])
            }
            return false
        }
    }

    /// The service that reads `auth-events`. It takes ended sessions from the events; an event about a user makes this read
    /// Postgres immediately.
    func announcements(pool: String, kafka: KafkaClient) -> some Service {
        EventTail<AuthEvent>(
            pool: pool, kafka: kafka, logger: logger,
            // Events from before this position aren't delivered.
            onPositioned: { [self] _ in wakeUpForAll() }
        ) { [self] events in
            var ended: [EndedSession] = []
            for event in events {
                do {
                    let payload = try event.decoded().payload
                    switch payload.kind {
                    case .userDeleted, .userDisabled: wakeUp.yield()
                    case .userEnabled: wakeUpForAll()
                    case .signedOut, .sessionRevoked: if let session = EndedSession(payload) { ended.append(session) }
                    case .userCreated, .signedIn, .identityLinked: break
                    }
                } catch {
                    logger.error("an auth event could not be read", metadata: ["error": "\(error)"])
                }
            }
            if state.withLock({ $0.sessions.add(ended, now: clock.now()) }) { observer.withLock { $0 }?() }
        }
    }
}

extension EndedSession {
    /// The session that an event ended. Events of older versions lack the expiry time; for these the longest validity of a token is
    /// assumed.
    fileprivate init?(_ event: AuthEvent) {
        guard let session = event.session else { return nil }
        self.init(
            app: event.app, id: session,
            until: event.accessUntil ?? event.time + Int64(ShutOut.longestToken / .milliseconds(1)))
    }
}

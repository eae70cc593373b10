import EventLoop
import EventStream
import EventTopics
import Kafka
public import Lifecycle
import Logging
import Postgres

/// The users whose account is disabled or deleted, in the memory of a service that takes calls of users: their access tokens live on.
///
/// Read from Postgres at the start and whenever `auth-events` tells of such a user (see `announcements`); a poll makes up for lost
/// events. A service that can't reach Postgres goes on with what it has.
public final class ShutOutUsers: Service {
    /// Why a user is shut out.
    public enum Reason: Sendable { case disabled, deleted }

    struct User: Hashable, Sendable {
        var app: String
        var id: String
    }

    /// How long an access token may be good, whatever the settings say: so long a user is remembered.
    public static let longestToken = Duration.seconds(86_400)
    /// How late a lost event is noticed at most.
    private static let pollInterval = Duration.seconds(30)
    /// Between attempts while Postgres is away, whose return no event tells.
    private static let pause = Duration.seconds(1)

    private let table: ShutOutTable
    private let logger: Logger
    private let users = Locked<[User: Reason]>([:])
    private let observer = Locked<(@Sendable () -> Void)?>(nil)
    private let loaded = Milestone()
    private let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation

    init(client: PostgresClient, logger: Logger) {
        table = ShutOutTable(client)
        self.logger = logger
        // One pending wake-up is as good as many: each look sees everything.
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Whether they were loaded since the start: before, nobody can tell.
    public var isLoaded: Bool { loaded.isReached }

    /// Returns when they were loaded for the first time.
    /// - Throws: `CancellationError`.
    public func waitUntilLoaded() async throws { try await loaded.wait() }

    /// Why a user is shut out; `nil` for one who isn't. Costs a lock.
    public func reason(_ user: String, app: String) -> Reason? {
        users.withLock { $0.isEmpty ? nil : $0[User(app: app, id: user)] }
    }

    /// Calls back, on any thread, when somebody has been shut out.
    public func onShutOut(_ observer: @escaping @Sendable () -> Void) { self.observer.withLock { $0 = observer } }

    /// Keeps them up to date until graceful shutdown or cancellation.
    public func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await self.follow() }
        } catch is CancellationError {
            // The way it ends.
        }
    }

    private func follow() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while true {
                    self.wakeUp.yield()
                    try await Task.sleep(for: Self.pollInterval)
                }
            }
            for await _ in wakeUps {
                while await !look() { try await Task.sleep(for: Self.pause) }
            }
            group.cancelAll()
        }
        try Task.checkCancellation()
    }

    private func look() async -> Bool {
        do {
            let now = try await table.withTokens()
            let isMore = users.withLock { users in
                defer { users = now }
                return now.keys.contains { users[$0] == nil }
            }
            loaded.reach()
            if isMore { observer.withLock { $0 }?() }
            return true
        } catch {
            if !(error is CancellationError) {
                logger.warning("who is shut out can't be looked up", metadata: ["error": "\(error)"])
            }
            return false
        }
    }

    /// The service that reads `auth-events` and lets this look at once.
    func announcements(pool: String, kafka: KafkaConfiguration) -> some Service {
        EventTail<AuthEvent>(
            pool: pool, kafka: kafka, logger: logger,
            // What was committed before isn't told any more.
            onPositioned: { [wakeUp] _ in wakeUp.yield() }
        ) { [wakeUp, logger] events in
            for event in events {
                do {
                    switch try event.decoded().payload.kind {
                    case .userDeleted, .userDisabled, .userEnabled: wakeUp.yield()
                    case .userCreated, .signedIn, .signedOut, .identityLinked, .sessionRevoked: break
                    }
                } catch {
                    logger.error("an auth event could not be read", metadata: ["error": "\(error)"])
                }
            }
        }
    }
}

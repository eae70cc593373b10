public import DocumentModel
import EventLoop
public import EventStream
public import EventTopics
import Foundation
public import Lifecycle
public import Logging
import Metrics
public import Postgres
public import SyncEngine

/// The grants of a service's users: read from Postgres, requested from permissions where there is none, and followed on the topic as long
/// as they are in use.
public final class GrantBook: Service {
    /// Called on any thread with each grant of the pair that comes while it is followed; `Grant.version` tells which is newer. With a
    /// revocation comes an answer that is due when the follower has stopped.
    public typealias Observer = @Sendable (Grant, FenceAnswer?) -> Void

    private let client: PostgresClient
    private let standing: GatheredReads<GrantHolder, PresentGrant>
    private let producer: EventProducer
    private let instance: String
    private let lease: GrantLease?
    private let logger: Logger
    private let followers = Locked(GrantFollowers<Observer>())
    private let background = BackgroundTasks()
    private let budget: Locked<QuestionBudget>
    /// The questions that are under way, by app and user: what one user asks doesn't keep others from asking.
    private let turns: FairGate<ExactText>

    /// The time after which a question is repeated, and the most attempts in all.
    private static let patience = Duration.seconds(2)
    private static let attempts = 4
    /// How long a question waits for its turn, and how many of an app wait for each that is under way.
    private static let turnPatience = Duration.seconds(30)
    private static let waitingShare = 50

    /// How often the uses of grants are written down, and when again after a failure.
    private static let usesInterval = Duration.seconds(86_400)
    private static let usesPatience = Duration.seconds(600)
    /// Grants that were read and whose use isn't written down, and how often that is done.
    private let stale = Locked<Set<GrantHolder>>([])
    private static let staleInterval = Duration.seconds(60)

    private static let unansweredQuestions = Counter(
        label: "grants_unanswered_questions_total", help: "Questions that permissions did not answer in time.")

    /// - Parameters:
    ///   - instance: the name of this process.
    ///   - lease: the lease of a gateway, which serves as long as the lease is valid, and answers revocations; `nil` for a service
    ///     that reads each grant once.
    public init(
        client: PostgresClient, producer: EventProducer, instance: String, lease: GrantLease? = nil,
        budget: QuestionBudget, logger: Logger
    ) {
        self.client = client
        standing = GatheredReads { [stale] holders in
            try await GrantHolder.grants(of: holders, from: client) { found in
                stale.withLock { $0.formUnion(found) }
            }
        }
        self.budget = Locked(budget)
        // A single app has up to half of the places.
        turns = FairGate(
            places: 2 * budget.limits.app, waiting: Self.waitingShare * budget.limits.app,
            waitingPerMember: budget.limits.user)
        self.producer = producer
        self.instance = instance
        self.lease = lease
        self.logger = logger
    }

    /// Identifies one call of ``follow(app:user:partition:_:)``, to end it.
    public typealias Following = GrantFollowers<Observer>.Following

    /// Follows the grants of a user to a partition: the user's own and those for all users. Call it before the first read of a
    /// grant, so that no change is missed in between.
    public func follow(app: String, user: String, partition: Partition, _ observer: @escaping Observer) -> Following {
        let keys = [user, EventKey.everyone].map {
            ExactText(GrantsEvent.key(app: app, user: $0, partition: partition))
        }
        return followers.withLock { $0.follow(keys, observer) }
    }

    public func stop(_ following: Following) { followers.withLock { $0.stop(following) } }

    /// Handles events of the topic.
    public func handle(_ events: [RawEvent<GrantsEvent>]) {
        for event in events where event.message.value != nil {  // removed: the grant no longer applies
            do {
                switch try event.decoded().payload {
                case .heartbeat(let beat): lease?.renew(beat)
                case .grant(let grant):
                    let observers = followers.withLock { $0.observers(of: ExactText(event.key)) }
                    let answer = lease.flatMap { lease in
                        grant.isFence
                            ? self.answer(
                                to: grant, on: event.message.partition, of: lease, followers: observers.count) : nil
                    }
                    for observer in observers { observer(grant, answer) }
                }
            } catch {
                logger.error("a grant can't be read", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Sends the acknowledgement to permissions once none of this gateway's followers serves the user in the partition.
    private func answer(
        to grant: Grant, on partition: Int32, of lease: GrantLease, followers: Int
    ) -> FenceAnswer {
        let fence = lease.fenceBegan(on: partition)
        return FenceAnswer(count: followers) { [self] in
            lease.fenceEnded(fence, on: partition)
            let ack = FenceAck(
                app: grant.app, user: grant.user, partition: grant.partition, version: grant.version, gateway: instance,
                time: WallClock.system.now())
            background.add { [self] in
                do {
                    try await producer.send(ack)
                } catch {
                    // Permissions waits for the end of the lease then.
                    logger.warning("a fence was not acknowledged", metadata: ["error": "\(error)"])
                }
            }
        }
    }

    /// The grant with access that applies now and was decided with the app's present rules; `nil` if there is none.
    private func current(app: String, user: String, partition: Partition) async throws -> Grant? {
        let present = try await standing.value(of: GrantHolder(app: app, user: user, partition: partition))
        guard let present, !present.isOutdated, present.grant.access != .none else { return nil }
        return present.grant
    }

    /// Runs until graceful shutdown, and returns when what is being sent has been acknowledged.
    public func run() async throws {
        try await withThrowingTaskGroup { group in
            group.addTask {
                try? await cancelWhenGracefulShutdown {  // ends by cancellation only
                    var isWritten = true
                    while !Task.isCancelled {
                        // No event tells that a partition has been open for another day.
                        try await Task.sleep(for: isWritten ? Self.usesInterval : Self.usesPatience)
                        isWritten = await self.writeUses()
                    }
                }
            }
            group.addTask {
                try? await cancelWhenGracefulShutdown {  // ends by cancellation only
                    let report = FailureReport("grant-uses", logger: self.logger)
                    while !Task.isCancelled {
                        // Gathered for a while: many devices open partitions at the same time.
                        try await Task.sleep(for: Self.staleInterval)
                        do {
                            try await self.writeStale()
                            report.succeeded("the uses of grants are written down again")
                        } catch {
                            // Who opens the partition again has it written then.
                            report.failed("the uses of grants can't be written down now", error)
                        }
                    }
                }
            }
            try await background.run()
            group.cancelAll()
        }
    }

    /// Writes down that the grants that are followed are in use: a partition may stay open for months.
    /// - Returns: whether all are written down.
    package func writeUses() async -> Bool {
        let keys = followers.withLock { $0.keys }
        let holders = keys.compactMap { key in
            GrantsEvent.parse(key: key.text).map {
                GrantHolder(app: $0.app, user: $0.user, partition: $0.partition)
            }
        }
        do {
            try await writeStale()
            try await GrantUses.write(holders, to: client, waits: false)
            return true
        } catch {
            logger.warning(
                "the uses of grants can't be written down, it is tried again", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Writes down that grants are in use that were read.
    private func writeStale() async throws {
        let holders = stale.withLock { stale in
            defer { stale = [] }
            return Array(stale)
        }
        try await GrantUses.write(holders, to: client, waits: false)
    }

    /// Asks permissions without waiting for the broker; a question that is lost is only logged.
    public func askInBackground(app: String, user: String, partition: Partition, claims: Document) {
        background.add { [self] in
            do {
                try await ask(app: app, user: user, partition: partition, claims: claims)
            } catch {
                logger.debug("a grant can't be asked for", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Asks permissions; the answer comes to those who follow the pair.
    private func ask(app: String, user: String, partition: Partition, claims: Document) async throws {
        try await producer.send(
            PermissionRequest(
                id: UUID().uuidString.lowercased(), app: app, user: user, partition: partition, claims: claims,
                requester: instance, time: WallClock.system.now()))
    }

    /// The grant; permissions is asked if there is none, or one of former rules.
    /// - Parameters:
    ///   - claims: the user's claims in the access token.
    ///   - device: the device on whose behalf permissions is asked.
    ///   - answers: reads the topic, and passes its events to `handle`, while the answer is awaited; `nil` if the topic is followed
    ///     anyway.
    /// - Returns: `nil` when permissions doesn't answer.
    /// - Throws: `QuestionBudget.Exceeded`, and errors of Postgres and the broker.
    public func resolve(
        app: String, user: String, device: String, partition: Partition, claims: Document,
        answers: OnDemandTail<GrantsEvent>? = nil
    ) async throws -> Grant? {
        if let grant = try await current(app: app, user: user, partition: partition) { return grant }
        let askers = QuestionBudget.Askers(app: app, user: user, device: device)
        try budget.withLock { try $0.begin(askers, now: ContinuousClock.now) }
        defer { budget.withLock { $0.end(askers) } }
        do {
            try await turns.enter(ExactText(app), member: ExactText(user), within: Self.turnPatience)
        } catch is FairGate<ExactText>.Refusal {
            throw QuestionBudget.crowded()
        }
        defer { turns.leave(ExactText(app), member: ExactText(user)) }
        guard let answers else { return try await answer(app: app, user: user, partition: partition, claims: claims) }
        return try await answers.whileReading {
            try await answer(app: app, user: user, partition: partition, claims: claims)
        }
    }

    /// Asks until there is an answer, at most `attempts` times.
    private func answer(app: String, user: String, partition: Partition, claims: Document) async throws -> Grant? {
        let (answers, continuation) = AsyncStream.makeStream(of: Grant?.self, bufferingPolicy: .bufferingNewest(4))
        let following = follow(app: app, user: user, partition: partition) { grant, answer in
            answer?.stopped()  // a question doesn't serve the partition
            // That there is no grant for all users any more says nothing of the user's own.
            if grant.isForEveryone, grant.access == .none { return }
            continuation.yield(grant)
        }
        defer { stop(following) }
        for _ in 0..<Self.attempts {
            try await ask(app: app, user: user, partition: partition, claims: claims)
            let timer = Task {
                try await Task.sleep(for: Self.patience)
                continuation.yield(nil)
            }
            defer { timer.cancel() }
            var iterator = answers.makeAsyncIterator()
            guard let answer = await iterator.next(), let grant = answer else { continue }
            if grant.access == .none { return grant }
            // The topic may bring one late that was replaced long ago, also behind its revocation.
            if let standing = try await current(app: app, user: user, partition: partition) { return standing }
        }
        Self.unansweredQuestions.increment()
        return nil
    }
}

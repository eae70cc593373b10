import EventLoop
import EventTopics
import Kafka
import Lifecycle
import Logging

/// Follows a whole topic as an `EventTail` does, but only while a caller waits for something on it: a service that needs it rarely
/// isn't woken by every message in between.
public final class OnDemandTail<Payload: EventPayload>: Service {
    private struct State {
        /// Reached when the reading that is requested or running has begun; `nil` while none is requested.
        var positioned: Milestone?
        /// Whether messages may be handled, which they are for a moment after `positioned` became `nil`.
        var mayHandle = false
        var users = 0
        var lastUse = ContinuousClock.now
    }

    private let makeTail: @Sendable (Milestone) -> EventTail<Payload>
    private let linger: Duration
    private let state = Locked(State())
    private let alarm = Alarm()

    /// Creates the tail; ``run()`` lets it read on demand.
    /// - Parameters:
    ///   - kafka: a client through which nothing else reads this topic.
    ///   - linger: how long it continues reading after the last use, so that several uses in a row start reading only once.
    ///   - onPositioned: called whenever it begins to read, with the offset from which it reads each partition of the topic.
    ///   - handle: receives the messages, in order per key; reading continues when it returns. Throwing ends the tail.
    public init(
        pool: String, kafka: KafkaClient, linger: Duration = .seconds(30), logger: Logger? = nil,
        onPositioned: @escaping @Sendable ([Int64]) -> Void = { _ in },
        handle: @escaping @Sendable ([RawEvent<Payload>]) async throws -> Void
    ) {
        self.linger = linger
        makeTail = { positioned in
            let begin: @Sendable ([Int64]) -> Void = { offsets in
                onPositioned(offsets)
                positioned.reach()
            }
            return EventTail(pool: pool, kafka: kafka, logger: logger, onPositioned: begin, handle: handle)
        }
    }

    /// Whether it is reading, or is about to.
    public var isReading: Bool { state.withLock { $0.positioned != nil || $0.mayHandle } }

    /// Keeps the tail reading as long as something refers to it.
    public final class Reading: Sendable {
        private let end: @Sendable () -> Void

        fileprivate init(_ end: @escaping @Sendable () -> Void) { self.end = end }

        deinit { end() }
    }

    /// Calls `body` while the topic is being read: every message that the brokers store in the meantime will be handled.
    /// - Throws: `CancellationError`, and what `body` throws.
    public func whileReading<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        let reading = try await read()
        defer { withExtendedLifetime(reading) {} }
        return try await body()
    }

    /// Begins to read, unless it does so already. Every message that the brokers store after the return, and before nothing refers to
    /// the result any more, will be handled.
    /// - Throws: `CancellationError`.
    public func read() async throws -> Reading {
        let positioned = state.withLock { state in
            state.users += 1
            let positioned = state.positioned ?? Milestone()
            state.positioned = positioned
            return positioned
        }
        let reading = Reading { [weak self] in
            self?.state.withLock { state in
                state.users -= 1
                state.lastUse = .now
            }
        }
        alarm.set()
        try await positioned.wait()
        return reading
    }

    /// Reads whenever `whileReading` is called, until a graceful shutdown or cancellation.
    public func run() async throws {
        try await endingQuietly {
            while true {
                try await self.alarm.ring()
                guard let positioned = self.state.withLock({ $0.positioned }) else { continue }
                try await self.read(positioned)
            }
        }
    }

    /// Reads until it was not used for `linger`.
    private func read(_ positioned: Milestone) async throws {
        state.withLock { $0.mayHandle = true }
        defer { state.withLock { $0.mayHandle = false } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.makeTail(positioned).run() }
            group.addTask {
                // Each use postpones the end, so the remaining time is determined again after each wait.
                while let wait = self.timeLeft() { try await Task.sleep(for: wait) }
            }
            try await group.next()
            group.cancelAll()
            while let result = await group.nextResult() {
                if case .failure(let error) = result, !(error is CancellationError) { throw error }
            }
        }
    }

    /// How long to wait before checking again; `nil` when reading ends now.
    private func timeLeft() -> Duration? {
        state.withLock { state in
            if state.users > 0 { return linger }
            let left = state.lastUse + linger - .now
            if left > .zero { return left }
            state.positioned = nil
            return nil
        }
    }
}

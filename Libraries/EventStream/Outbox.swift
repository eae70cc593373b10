import EventLoop
public import EventTopics
import Kafka
public import Lifecycle
public import Logging

/// A table of events that are to be published: its rows are written in the transactions of the changes that the events report.
public protocol OutboxTable: Sendable {
    /// A row of the table.
    associatedtype Entry: Sendable
    /// What is published of a row.
    associatedtype Event: EventPayload

    /// The oldest rows that aren't published, in the order in which they are to be published; none when another process publishes them.
    func waiting(limit: Int) async throws -> [Entry]

    /// The event of a row.
    static func event(_ entry: Entry) -> Event

    /// Marks rows that the broker has acknowledged.
    func published(_ entries: [Entry]) async throws

    /// Called once, after the last batch: releases a lease, if the table has one.
    func stopped() async throws
}

extension OutboxTable {
    public func stopped() async throws {}
}

/// Publishes the rows of an ``OutboxTable``, each at least once and in the order of the table.
///
/// It reads the table when ``wake()`` reports that rows were committed, and now and then by itself, for rows of a process that has
/// ended. Rows that this process has just committed can be handed over by ``publish(_:)``, which saves reading them; those that come
/// while a batch is in flight are published together. A row whose publication fails stays in the table until the next reading.
public final class Outbox<Table: OutboxTable>: Service {
    /// The first event of a batch that the broker hasn't acknowledged.
    struct Failure {
        var index: Int
        var error: any Error
    }

    private struct State {
        var handedOver: [Table.Entry] = []
        var isReadingDue = true
        var failures = FailureChanges()
    }

    private let table: Table
    private let send: @Sendable ([Table.Event]) async throws -> Failure?
    private let sweepInterval: Duration
    private let logger: Logger
    private let state = Locked(State())
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation

    /// Rows that are read, or kept after being handed over, at most.
    static var batch: Int { 500 }
    static var capacity: Int { 10_000 }

    /// - Parameter sweepInterval: How often the table is read when nothing wakes the outbox.
    public convenience init(
        _ table: Table, producer: EventProducer, sweepInterval: Duration, logger: Logger
    ) {
        self.init(table, sweepInterval: sweepInterval, logger: logger) { events in
            try await producer.send(events).failures.min { $0.index < $1.index }.map {
                .init(index: $0.index, error: $0.error)
            }
        }
    }

    init(
        _ table: Table, sweepInterval: Duration, logger: Logger,
        send: @escaping @Sendable ([Table.Event]) async throws -> Failure?
    ) {
        self.table = table
        self.send = send
        self.sweepInterval = sweepInterval
        self.logger = logger
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Has the table read: rows were committed.
    public func wake() {
        state.withLock { $0.isReadingDue = true }
        waker.yield()
    }

    /// Publishes a row that was just committed. The next reading finds what exceeds the memory for such rows.
    public func publish(_ entry: Table.Entry) {
        state.withLock { state in
            if state.handedOver.count < Self.capacity { state.handedOver.append(entry) }
        }
        waker.yield()
    }

    /// Publishes until graceful shutdown or cancellation, and then what is left at that time.
    public func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            await withTaskGroup { group in
                group.addTask {
                    while !Task.isCancelled {
                        self.wake()
                        try? await Task.sleep(for: self.sweepInterval)  // cancelled: the loop's condition ends it
                    }
                }
                for await _ in self.wakes {
                    do {
                        try await self.publishDue()
                        self.recovered()
                    } catch is CancellationError {
                        break
                    } catch {
                        self.failed(error)
                    }
                }
                group.cancelAll()
            }
        }
        do {
            state.withLock { $0.isReadingDue = true }
            try await publishDue()
            try await table.stopped()
        } catch {
            logger.info("events stay in the outbox until the next start", metadata: Self.metadata(error))
        }
    }

    /// Rows that were handed over come before those that are read, also between two batches of these.
    private func publishDue() async throws {
        while true {
            let (batch, isReadingDue) = state.withLock { state in
                defer { state.handedOver = [] }
                if state.handedOver.isEmpty, state.isReadingDue {
                    state.isReadingDue = false
                    return (state.handedOver, true)
                }
                return (state.handedOver, false)
            }
            if isReadingDue {
                let rows = try await table.waiting(limit: Self.batch)
                if !rows.isEmpty { try await publish(rows) }
                if rows.count == Self.batch { state.withLock { $0.isReadingDue = true } }
            } else if batch.isEmpty {
                return
            } else {
                try await publish(batch)
            }
        }
    }

    private func publish(_ rows: [Table.Entry]) async throws {
        let failure = try await send(rows.map(Table.event))
        // A row behind one that failed isn't marked, although it was sent: marked, it would overtake the one that failed.
        let count = failure?.index ?? rows.count
        if count > 0 { try await table.published(Array(rows.prefix(count))) }
        if let failure { throw failure.error }
    }

    private func recovered() {
        guard state.withLock({ $0.failures.recovered() }) else { return }
        logger.notice("events of the outbox are published again", metadata: ["topic": "\(Table.Event.topic.name)"])
    }

    private func failed(_ error: any Error) {
        let isNew = state.withLock { $0.failures.isNew("\(error)", again: .seconds(60)) }
        logger.log(
            level: isNew ? .warning : .debug, "events stay in the outbox for now", metadata: Self.metadata(error))
    }

    private static func metadata(_ error: any Error) -> Logger.Metadata {
        ["topic": "\(Table.Event.topic.name)", "error": "\(error)"]
    }
}

import DocumentModel
import EventLoop
import EventTopics
import Lifecycle
import Logging
import SyncEngine
import Testing

@testable import EventStream

/// The outbox over a table in memory, with a broker that can refuse.
@Suite(.timeLimit(.minutes(1))) struct OutboxTests {
    private final class Table: OutboxTable {
        struct Rows {
            var waiting: [Int]
            var readings = 0
            var isStopped = false
        }

        let rows: Locked<Rows>

        init(_ waiting: [Int]) { rows = Locked(Rows(waiting: waiting)) }

        func waiting(limit: Int) async throws -> [Int] {
            rows.withLock { rows in
                rows.readings += 1
                return Array(rows.waiting.prefix(limit))
            }
        }

        static func event(_ entry: Int) -> FenceAck {
            FenceAck(
                app: "app", user: "u", partition: Partition(text: "p"), version: Revision(epoch: 1, number: 1),
                gateway: "\(entry)", time: 0)
        }

        func published(_ entries: [Int]) async throws {
            rows.withLock { $0.waiting.removeAll { entries.contains($0) } }
        }

        func stopped() async throws { rows.withLock { $0.isStopped = true } }
    }

    private struct Refused: Error {}

    /// What the broker has received, and the events that it refuses once.
    private final class Broker: Sendable {
        let state = Locked((sent: [Int](), refuses: Set<Int>()))

        func take(_ events: [FenceAck]) -> Outbox<Table>.Failure? {
            state.withLock { state in
                var first: Outbox<Table>.Failure?
                for (index, event) in events.enumerated() {
                    let number = Int(event.gateway) ?? -1
                    if state.refuses.remove(number) != nil {
                        first = first ?? .init(index: index, error: Refused())
                    } else {
                        state.sent.append(number)
                    }
                }
                return first
            }
        }

        var sent: [Int] { state.withLock { $0.sent } }
    }

    private static func run(
        _ table: Table, _ broker: Broker, sweepInterval: Duration = .seconds(3600),
        _ body: (Outbox<Table>) async throws -> Void
    ) async throws {
        let outbox = Outbox(table, sweepInterval: sweepInterval, logger: Logger(label: "outbox")) { broker.take($0) }
        try await testGracefulShutdown { trigger in
            async let run: Void = outbox.run()
            try await body(outbox)
            trigger.triggerGracefulShutdown()
            try await run
        }
    }

    private static func until(_ condition: () -> Bool) async throws {
        while !condition() { try await Task.sleep(for: .milliseconds(2)) }
    }

    @Test func `it publishes what the table has at the start, in order and in batches, and releases it at the end`()
        async throws
    {
        let all = Array(0..<1234)
        let table = Table(all)
        let broker = Broker()
        try await Self.run(table, broker) { _ in try await Self.until { broker.sent.count >= all.count } }
        #expect(broker.sent == all)
        let rows = table.rows.withLock { $0 }
        #expect(rows.waiting.isEmpty && rows.isStopped)
    }

    @Test func `a row that is handed over needs no reading`() async throws {
        let table = Table([])
        let broker = Broker()
        try await Self.run(table, broker) { outbox in
            try await Self.until { table.rows.withLock { $0.readings } == 1 }
            outbox.publish(7)
            outbox.publish(8)
            try await Self.until { broker.sent.count == 2 }
            #expect(table.rows.withLock { $0.readings } == 1)
        }
        #expect(broker.sent == [7, 8])
    }

    @Test func `a row that the broker refuses stays with those behind it, and is published with the next reading`()
        async throws
    {
        let table = Table([1, 2, 3])
        let broker = Broker()
        broker.state.withLock { $0.refuses = [2] }
        try await Self.run(table, broker) { outbox in
            try await Self.until { broker.sent == [1, 3] }
            try await Self.until { table.rows.withLock { $0.waiting } == [2, 3] }
            outbox.wake()
            try await Self.until { broker.sent.count == 4 }
        }
        // 3 again: its readers recognize it by its id.
        #expect(broker.sent == [1, 3, 2, 3])
        #expect(table.rows.withLock { $0.waiting }.isEmpty)
    }

    @Test func `rows of other processes are found without a notification`() async throws {
        let table = Table([])
        let broker = Broker()
        try await Self.run(table, broker, sweepInterval: .milliseconds(5)) { _ in
            table.rows.withLock { $0.waiting = [1] }
            try await Self.until { broker.sent == [1] }
        }
    }

    @Test func `what is committed while it stops is published`() async throws {
        let table = Table([])
        let broker = Broker()
        try await Self.run(table, broker) { _ in
            try await Self.until { table.rows.withLock { $0.readings } == 1 }
            table.rows.withLock { $0.waiting = [1] }
        }
        #expect(broker.sent == [1])
    }
}

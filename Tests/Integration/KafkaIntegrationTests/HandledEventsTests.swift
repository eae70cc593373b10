import DocumentModel
import EventLoop
import EventStream
import Lifecycle
import Logging
import Postgres
import TestSupport
import Testing

/// A fresh database with the tables of the stream.
func withHandledEvents(_ body: @Sendable @escaping (PostgresClient) async throws -> Void) async throws {
    let url = try await TestEngines.shared().makeDatabase()
    let loops = LoopGroup(1, name: "handled-test")
    let client = PostgresClient(configuration: PostgresConfiguration(url: url), on: loops)
    let result: Result<Void, any Error> = await withTaskGroup(of: Void.self) { group in
        group.addTask { try? await client.run() }  // ends by the cancellation below
        let result: Result<Void, any Error>
        do {
            try await HandledEvents.migrations.apply(on: client)
            result = .success(try await body(client))
        } catch {
            result = .failure(error)
        }
        group.cancelAll()
        return result
    }
    for loop in loops.loops { loop.stop() }
    try result.get()
}

@Suite struct HandledEventsTests {
    private let key = PartitionKey(app: "a", partition: Partition(text: "s:p"))

    private func claim(_ handled: HandledEvents, _ numbers: [Int64], epoch: Int32 = 1, _ client: PostgresClient)
        async throws
        -> [Int64]
    {
        try await handled.claim(
            app: key.app, partition: key.partition, revisions: numbers.map { Revision(epoch: epoch, number: $0) },
            in: client
        ).map(\.number).sorted()
    }

    @Test func `a claim succeeds once, in any order`() async throws {
        try await withHandledEvents { (client) async throws in
            let handled = HandledEvents(consumer: "c")
            #expect(try await claim(handled, [1, 2], client) == [1, 2])
            #expect(try await claim(handled, [2, 5, 3], client) == [3, 5])
            #expect(try await handled.progress([key], on: client)[key] == .init(watermark: 3, above: [5]))
            #expect(try await claim(handled, [5, 3, 1], client) == [])
            #expect(try await claim(handled, [4, 7], client) == [4, 7])
            #expect(try await handled.progress([key], on: client)[key] == .init(watermark: 5, above: [7]))
            #expect(try await claim(HandledEvents(consumer: "other"), [1], client) == [1])
        }
    }

    @Test func `a claim that is rolled back has no effect`() async throws {
        struct Refused: Error {}
        try await withHandledEvents { (client) async throws in
            let handled = HandledEvents(consumer: "c")
            await #expect(throws: Refused.self) {
                try await client.withTransaction { transaction in
                    let fresh = try await handled.claim(
                        app: key.app, partition: key.partition, revisions: [Revision(epoch: 1, number: 1)],
                        in: transaction)
                    let isFresh = try await handled.claim(eventID: "e", in: transaction)
                    #expect(fresh.count == 1 && isFresh)
                    throw Refused()
                }
            }
            #expect(try await claim(handled, [1], client) == [1])
            #expect(try await handled.claim(eventID: "e", in: client))
            #expect(try await !handled.claim(eventID: "e", in: client))
            try await handled.forgetIDs(olderThan: .seconds(-5), on: client)
            #expect(try await handled.claim(eventID: "e", in: client))
        }
    }

    @Test func `of concurrent claims one succeeds`() async throws {
        try await withHandledEvents { (client) async throws in
            let handled = HandledEvents(consumer: "c")
            let fresh = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for _ in 0..<8 { group.addTask { try await claim(handled, [1, 2, 3], client) } }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(fresh.sorted() == [1, 2, 3])
        }
    }

    @Test func `numbers are assigned again after a restore`() async throws {
        try await withHandledEvents { (client) async throws in
            let handled = HandledEvents(consumer: "c")
            #expect(try await claim(handled, Array(1...6), client).count == 6)
            // After a restore to 4, the numbers 5 and 6 are other changes.
            #expect(try await claim(handled, [5], epoch: 2, client) == [5])
            #expect(try await claim(handled, [6], epoch: 1, client) == [])
            #expect(try await claim(handled, [6, 5], epoch: 2, client) == [6])
            #expect(try await claim(handled, [4], epoch: 1, client) == [])
            #expect(try await handled.progress([key], on: client)[key] == .init(watermark: 6, above: [], epoch: 2))
        }
    }

    @Test func `numbers assigned again in another order are handled once, too`() async throws {
        try await withHandledEvents { (client) async throws in
            let handled = HandledEvents(consumer: "c")
            #expect(try await claim(handled, Array(1...6), client).count == 6)
            #expect(try await claim(handled, [6], epoch: 2, client) == [6])
            #expect(try await claim(handled, [5], epoch: 2, client) == [5])
            #expect(try await claim(handled, [5, 6], epoch: 2, client) == [])
            #expect(try await handled.progress([key], on: client)[key] == .init(watermark: 6, above: [], epoch: 2))
        }
    }

    @Test func `records and skips combine with claims`() async throws {
        try await withHandledEvents { (client) async throws in
            let handled = HandledEvents(consumer: "c")
            let other = PartitionKey(app: "b", partition: Partition(text: "s:q"))
            try await handled.record(
                [
                    (key, Revision(epoch: 1, number: 3)), (other, Revision(epoch: 1, number: 1)),
                    (key, Revision(epoch: 1, number: 9)),
                ],
                on: client)
            #expect(try await claim(handled, [3, 4], client) == [4])
            try await handled.skip(key, to: Revision(epoch: 1, number: 2), on: client)
            #expect(
                try await handled.progress([key, other], on: client)
                    == [key: .init(watermark: 4, above: [9]), other: .init(watermark: 1, above: [])])
            try await handled.skip(key, to: Revision(epoch: 1, number: 8), on: client)
            try await handled.skip(key, to: Revision(epoch: 1, number: 3), on: client)
            #expect(try await handled.progress([key], on: client)[key] == .init(watermark: 9, above: []))
        }
    }
}

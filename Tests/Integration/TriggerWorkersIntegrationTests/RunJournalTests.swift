import DocumentModel
import DocumentStore
import EventStream
import FunctionProtocol
import Postgres
import TestSupport
import Testing

@testable import TriggerWorkers

@Suite struct RunJournalTests {
    private let write = FunctionEffect(
        ordinal: 1, service: "mongodb-atlas", action: "insertOne", arguments: [:],
        function: "write")
    private let run = RunRecords.Run(app: ObjectId().hexString, trigger: "onMessage", event: "1")

    private let chain = TriggerChain(beginning: "1").followed(by: "onMessage")

    /// Writes as a worker does that got the event now.
    private func record(_ journal: RunJournal, in fixture: TriggersFixture) async throws {
        do {
            try await fixture.postgres.withTransaction {
                try await journal.write([.init(effect: write, result: .success(.null))], in: $0)
            }
        } catch {
            try await journal.failed(write, EffectFailure(error))
            throw error
        }
    }

    @Test func `a worker that is late can't write, whether the other worker's run has ended or not`() async throws {
        let fixture = try await TriggersFixture.shared()
        let records = RunRecords(client: fixture.postgres)
        // All of them begin before the first writes: one is given the event, the others too, since they look dead in turn.
        let first = try RunJournal(
            run, chain: chain, entries: try #require(await records.entries(of: [run])[0]), records: records, now: 1000)
        let second = try RunJournal(
            run, chain: chain, entries: try #require(await records.entries(of: [run])[0]), records: records, now: 1000)
        let third = try RunJournal(
            run, chain: chain, entries: try #require(await records.entries(of: [run])[0]), records: records, now: 1000)
        try await record(first, in: fixture)
        #expect(!first.isOvertaken)
        await #expect(throws: PostgresError.self) { try await record(second, in: fixture) }
        #expect(second.isOvertaken)
        try await records.end(run)
        await #expect(throws: PostgresError.self) { try await record(third, in: fixture) }
        #expect(third.isOvertaken)
        #expect(
            try await fixture.postgres.query(
                "select from partita.trigger_journal where app = $1", [.text(run.app)]
            ).isEmpty)
    }

    @Test func `a worker that is late isn't told that its own document exists`() async throws {
        let fixture = try await TriggersFixture.shared()
        let records = RunRecords(client: fixture.postgres)
        let first = try RunJournal(run, chain: chain, entries: [], records: records, now: 1000)
        let second = try RunJournal(run, chain: chain, entries: [], records: records, now: 1000)
        let duplicate = EffectFailure(name: "MongoDBError", message: "duplicate key", code: 11000)
        // What it has written itself, at the same time, doesn't count.
        let other = FunctionEffect(
            ordinal: 2, service: "mongodb-atlas", action: "insertOne", arguments: [:], function: "write")
        try await fixture.postgres.withTransaction {
            try await second.write([.init(effect: other, result: .success(.null))], in: $0)
        }
        try await second.failed(write, duplicate)
        #expect(!second.isOvertaken)
        try await record(first, in: fixture)
        try await second.failed(write, duplicate)
        #expect(second.isOvertaken)
        try await records.end(run)
        let third = try RunJournal(run, chain: chain, entries: [], records: records, now: 1000)
        try await third.failed(write, duplicate)
        #expect(third.isOvertaken)
    }

    @Test func `a run that starts again is told of a failure as before`() async throws {
        let fixture = try await TriggersFixture.shared()
        let records = RunRecords(client: fixture.postgres)
        let first = try RunJournal(run, chain: chain, entries: [], records: records, now: 1000)
        let failure = EffectFailure(
            name: "MongoDBError", message: "duplicate key", code: 11000, details: ["keyValue": ["a": 1]])
        try await first.failed(write, failure)
        let later = FunctionEffect(
            ordinal: 2, service: "mongodb-atlas", action: "insertOne", arguments: ["document": ["_id": 1]],
            function: "write")
        try await fixture.postgres.withTransaction {
            try await first.write([.init(effect: later, result: .success(["insertedId": 1]))], in: $0)
        }
        let second = try RunJournal(
            run, chain: chain, entries: try #require(await records.entries(of: [run])[0]), records: records, now: 1000)
        guard case .failure(let told) = second.answer(to: write) else {
            Issue.record("it isn't told of the failure")
            return
        }
        #expect(told.document == failure.document)
        #expect(try second.answer(to: later)?.get() == ["insertedId": 1])
        #expect(second.divergence == nil)
    }

    @Test func `a run that starts again asks no other service twice for what that has done`() async throws {
        let fixture = try await TriggersFixture.shared()
        let records = RunRecords(client: fixture.postgres)
        func request(_ ordinal: Int64, _ url: String) -> FunctionEffect {
            FunctionEffect(
                ordinal: ordinal, service: "http", action: "post", arguments: ["url": .string(url)], function: "write")
        }
        func journal(after former: RunJournal?, at now: Int64) async throws -> RunJournal {
            try RunJournal(
                run, chain: chain, entries: try #require(await records.entries(of: [run])[0]), records: records,
                after: former, now: now)
        }
        let first = try await journal(after: nil, at: 1000)
        #expect(first.answer(to: request(1, "a")) == nil)
        first.answered(request(1, "a"), .success(["statusCode": 201, "body": "one"]))
        first.answered(request(2, "b"), .success(["statusCode": 503]))
        let second = try await journal(after: first, at: 2000)
        #expect(second.start == 1000)
        #expect(try second.answer(to: request(1, "a"))?.get()["body"] == "one")
        #expect(second.answer(to: request(2, "b")) == nil)
        // What another process knows is what has committed with a write.
        second.answered(request(2, "b"), .success(["statusCode": 500]))
        let later = FunctionEffect(
            ordinal: 3, service: "mongodb-atlas", action: "insertOne", arguments: ["document": ["_id": 1]],
            function: "write")
        try await fixture.postgres.withTransaction {
            try await second.write([.init(effect: later, result: .success(["insertedId": 1]))], in: $0)
        }
        let third = try await journal(after: nil, at: 3000)
        #expect(third.start == 1000)
        #expect(try third.answer(to: request(1, "a"))?.get()["body"] == "one")
        #expect(try third.answer(to: request(2, "b"))?.get()["statusCode"] == 500)
        #expect(try third.answer(to: later)?.get() == ["insertedId": 1])
        #expect(third.divergence == nil)
        // Other calls than before: what was answered before belongs to none of them.
        let fourth = try RunJournal(run, chain: chain, entries: [], records: records, after: first, now: 4000)
        #expect(fourth.answer(to: request(1, "other")) == nil)
        #expect(fourth.answer(to: request(1, "a")) == nil)
    }

    @Test func `a call that is answered while a write beside it commits is recorded with the next write`() async throws
    {
        let fixture = try await TriggersFixture.shared()
        let records = RunRecords(client: fixture.postgres)
        func call(_ ordinal: Int64, _ action: String, session: Int64? = nil) -> FunctionEffect {
            var arguments: Document = [
                "database": "d", "collection": "c", "document": ["_id": .int64(ordinal)],
            ]
            if let session { arguments = ["session": .int64(session)] }
            return FunctionEffect(
                ordinal: ordinal, service: "mongodb-atlas", action: action, arguments: arguments, function: "write")
        }
        func request(_ ordinal: Int64) -> FunctionEffect {
            FunctionEffect(
                ordinal: ordinal, service: "http", action: "post", arguments: ["n": .int64(ordinal)], function: "write")
        }
        let first = try RunJournal(run, chain: chain, entries: [], records: records, now: 1000)
        for write in [call(2, "insertOne"), call(4, "insertOne")] {
            try await fixture.postgres.withTransaction {
                try await first.write([.init(effect: write, result: .success(.null))], in: $0)
                // Begun before the write, answered before it has committed.
                if write.ordinal == 2 { first.answered(request(1), .success(["statusCode": 201])) }
            }
            first.performed(write, .null)
            if write.ordinal == 2 {
                // A transaction that has written nothing has recorded nothing either.
                first.performed(call(3, "startTransaction", session: 0), .null)
                first.performed(call(3, "commitTransaction", session: 0), .null)
            }
        }
        let second = try RunJournal(
            run, chain: chain, entries: try #require(await records.entries(of: [run])[0]), records: records, now: 2000)
        #expect(second.start == 1000)
        #expect(try second.answer(to: request(1))?.get()["statusCode"] == 201)
        #expect(try second.answer(to: call(4, "insertOne"))?.get() == .null)
        #expect(second.divergence == nil)
    }
}

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

    /// Writes as a worker does that got the event now.
    private func record(_ journal: RunJournal, in fixture: TriggersFixture) async throws {
        do {
            try await fixture.postgres.withTransaction { try await journal.write(write, result: .null, in: $0) }
        } catch {
            await journal.failed()
            throw error
        }
    }

    @Test func `a worker that is late can't write, whether the other worker's run has ended or not`() async throws {
        let fixture = try await TriggersFixture.shared()
        let records = RunRecords(client: fixture.postgres)
        // All of them begin before the first writes: one is given the event, the others too, since they look dead in turn.
        let first = try RunJournal(run, entries: try #require(await records.entries(of: run)))
        let second = try RunJournal(run, entries: try #require(await records.entries(of: run)))
        let third = try RunJournal(run, entries: try #require(await records.entries(of: run)))
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
}

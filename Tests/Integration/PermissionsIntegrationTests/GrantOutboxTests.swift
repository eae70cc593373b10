import DocumentModel
import DocumentStore
import EventLoop
import EventTopics
import Grants
import Postgres
import ServiceEngines
import TestSupport
import Testing

@testable import Permissions

/// What the table of grants that wait for the topic says to two processes that publish at the same time.
@Suite struct GrantOutboxTests {
    private static let subject = Subject(app: "a", user: "u", partition: Partition(text: "s:p"))

    /// A database of its own.
    private func withTable(
        _ body: @Sendable @escaping (GrantTable, PostgresClient) async throws -> Void
    ) async throws {
        let configuration = PostgresConfiguration(url: try await TestEngines.shared().makeDatabase())
        try await PostgresClient.withClient(configuration, on: LoopGroup(1)) { client in
            try await DocumentStore.migrations.apply(on: client)
            try await ShutOutTable.migrations.apply(on: client)
            try await PermissionsMigrations.all.apply(on: client)
            try await body(GrantTable(client: client), client)
        }
    }

    private func first(in table: GrantTable) async throws -> Grant {
        let life = try await table.begin(Self.subject, claims: [:])
        let read = try await table.commit(Verdict(.read, reason: ""), on: Self.subject, basis: .nothing(life: life))
        return try #require(read)
    }

    private func next(_ access: Grant.Access, after grant: Grant, in table: GrantTable) async throws -> Grant {
        let next = try await table.commit(Verdict(access, reason: ""), on: Self.subject, basis: .version(grant.version))
        return try #require(next)
    }

    @Test func `a grant that is published after its successor has that published again`() async throws {
        try await withTable { table, _ in
            let first = try await self.first(in: table), second = try await next(.write, after: first, in: table)
            // Another process.
            try await table.published([second])
            #expect(try await table.unpublished(limit: 10).isEmpty)
            try await table.published([first])
            let waiting = try await table.unpublished(limit: 10)
            #expect(waiting.map(\.version) == [second.version])
            try await table.published(waiting)
            #expect(try await table.unpublished(limit: 10).isEmpty)
            // Two that are handed over in the wrong order go in one batch.
            let third = try await next(.read, after: second, in: table)
            try await table.published([third, second])
            #expect(try await table.unpublished(limit: 10).map(\.version) == [third.version])
            try await table.published([second, third])
            #expect(try await table.unpublished(limit: 10).isEmpty)
        }
    }

    @Test func `a grant that is published after its removal is removed again`() async throws {
        try await withTable { table, client in
            let first = try await self.first(in: table), second = try await next(.none, after: first, in: table)
            try await table.published([second])
            try await client.execute("delete from partita.fences")
            #expect(try await table.remove(Self.subject, olderThan: .zero))
            // Who publishes late doesn't take the removal for published.
            try await table.published([second])
            let removed = try await table.removed(limit: 10)
            #expect(removed.map(\.version) == [second.version])
            for grant in removed { try await table.removedFromTopic(grant) }
            #expect(try await table.removed(limit: 10).isEmpty)
            try await table.published([first])
            #expect(try await table.removed(limit: 10).count == 1)
        }
    }

    @Test func `a grant without a question ends also while the outbox has it`() async throws {
        try await withTable { table, client in
            let first = try await self.first(in: table)
            try await client.execute("delete from partita.grant_subjects")
            #expect(try await table.endWithoutSubject(Self.subject))
            let waiting = try await table.unpublished(limit: 10)
            #expect(waiting.count == 1)
            #expect(waiting.allSatisfy { $0.version > first.version && $0.expires != nil })
        }
    }

    /// The topic would lack a revocation if its process ended before it had published it.
    @Test func `a grant that is being committed stays in the outbox while its predecessor is marked as published`()
        async throws
    {
        try await withTable { table, client in
            let first = try await self.first(in: table)
            let (marking, isOver) = (Locked<Task<Void, any Error>?>(nil), Locked(false))
            try await client.withTransaction { transaction in
                try await transaction.execute(
                    "select from partita.commit_grant('a', 's:p', 'u', null, null, null, 'none', 'gone', null, 1, 1, '')"
                )
                let task = Task {
                    try await table.published([first])
                    isOver.withLock { $0 = true }
                }
                marking.withLock { $0 = task }
                try await eventually("it has begun") {
                    try await transaction.execute("select pg_stat_clear_snapshot()")
                    return try await transaction.query(
                        "select from pg_stat_activity where query like '%delete from partita.grant_outbox%' and pid <> pg_backend_pid()"
                    ).count > 0 || isOver.withLock { $0 }
                }
            }
            try await marking.withLock { $0 }?.value
            let waiting = try await table.unpublished(limit: 10)
            #expect(waiting.map(\.access) == [.none])
            #expect(waiting.map(\.isFence) == [true])
            try await table.published(waiting)
            #expect(try await table.unpublished(limit: 10).isEmpty)
        }
    }
}

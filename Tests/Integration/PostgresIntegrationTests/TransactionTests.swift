import Postgres
import Testing

@Suite struct TransactionTests {
    private struct Refusal: Error {}

    private func count(_ client: some PostgresQuerying) async throws -> Int {
        try await client.query("SELECT count(*) FROM t").decode(Int.self)[0]
    }

    @Test func `a pipeline is all or nothing and names the statement that failed`() async throws {
        try await withClient { client in
            try await client.execute("CREATE TABLE t (id int PRIMARY KEY)")
            for mode in [PostgresPipelineMode.implicit, .explicit, .explicit(.serializable)] {
                await #expect {
                    try await client.pipeline(
                        [
                            "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (1)",
                            "INSERT INTO t VALUES (4)",
                        ],
                        in: mode)
                } throws: {
                    let error = $0 as? PostgresError
                    return error?.statementIndex == 2 && error?.sqlstate == "23505"
                }
                #expect(try await count(client) == 0)
            }
            let rows = try await client.pipeline(
                ["INSERT INTO t VALUES (1)", "SELECT 7", PostgresStatement("INSERT INTO t VALUES ($1)", [2])],
                in: .explicit)
            #expect(rows.map(\.affectedRows) == [1, 1, 1])
            #expect(try await count(client) == 2)
        }
    }

    @Test func `a constraint that fails at the commit fails the call`() async throws {
        try await withClient { client in
            try await client.execute("CREATE TABLE t (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)")
            for mode in [PostgresPipelineMode.implicit, .explicit] {
                await #expect {
                    try await client.pipeline(["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)"], in: mode)
                } throws: {
                    ($0 as? PostgresError)?.isUniqueViolation == true
                }
            }
            await #expect(throws: PostgresError.self) { try await client.execute("INSERT INTO t VALUES (1), (1)") }
            await #expect(throws: PostgresError.self) {
                try await client.withTransaction { try await $0.execute("INSERT INTO t VALUES (1), (1)") }
            }
            #expect(try await count(client) == 0)
        }
    }

    @Test func `a transaction that throws is rolled back`() async throws {
        try await withClient { client in
            try await client.execute("CREATE TABLE t (id int PRIMARY KEY)")
            await #expect(throws: Refusal.self) {
                try await client.withTransaction { transaction in
                    try await transaction.execute("INSERT INTO t VALUES (1)")
                    throw Refusal()
                }
            }
            #expect(try await count(client) == 0)
            try await client.withTransaction(isolation: .serializable) { transaction in
                let first = try await transaction.send("INSERT INTO t VALUES (1)")
                let second = try await transaction.send("INSERT INTO t SELECT id + 1 FROM t")
                #expect(try await second.rows().affectedRows == 1)
                #expect(try await first.rows().affectedRows == 1)
            }
            #expect(try await count(client) == 2)
        }
    }

    @Test func `a swallowed failure isn't reported as a commit`() async throws {
        try await withClient { client in
            try await client.execute("CREATE TABLE t (id int PRIMARY KEY)")
            await #expect {
                try await client.withTransaction { transaction in
                    try await transaction.execute("INSERT INTO t VALUES (1)")
                    _ = try? await transaction.execute("INSERT INTO t VALUES (1)")
                }
            } throws: {
                let error = $0 as? PostgresError
                return error?.code == .transactionRolledBack && error?.causeOfRollback.isUniqueViolation == true
            }
            // The same of statements whose answers nobody waits for.
            await #expect {
                try await client.withTransaction { transaction in
                    _ = try await transaction.send(["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)", "SELECT 1"])
                }
            } throws: {
                ($0 as? PostgresError)?.causeOfRollback.isUniqueViolation == true
            }
            #expect(try await count(client) == 0)
        }
    }

    @Test func `a transaction that a holder leaves open doesn't affect others`() async throws {
        try await withClient {
            $0.connections = 1
        } _: { client in
            try await client.execute("CREATE TABLE t (id int PRIMARY KEY)")
            try await client.withConnection { connection in
                try await connection.execute("BEGIN")
                try await connection.execute("INSERT INTO t VALUES (1)")
                _ = try await connection.send("INSERT INTO t VALUES (2)")
            }
            #expect(try await count(client) == 0)
            try await client.execute("INSERT INTO t VALUES (3)")
            #expect(try await count(client) == 1)
        }
    }

    @Test func `an empty transaction and an empty pipeline do nothing`() async throws {
        try await withClient { client in
            try await client.withTransaction { _ in }
            #expect(try await client.pipeline([]).isEmpty)
            try await client.check()
        }
    }
}

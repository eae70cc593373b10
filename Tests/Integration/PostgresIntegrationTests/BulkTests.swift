import EventLoop
import Postgres
import TestSupport
import Testing

@Suite struct BulkTests {
    private struct Refusal: Error {}

    @Test func `a cursor streams every row once, in order, beside other statements`() async throws {
        try await withClient { client in
            for size in [0, 99, 100, 101, 1000] {
                try await client.withTransaction(isolation: .snapshotReadOnly) { transaction in
                    var expected = 1
                    let stream = transaction.stream(
                        "SELECT n FROM generate_series(1, $1::int) n ORDER BY n", [.int(Int64(size))], batch: 100)
                    for try await row in stream {
                        #expect(try row.decode(0, as: Int.self) == expected)
                        if expected % 250 == 0 { _ = try await transaction.query("SELECT 1") }
                        expected += 1
                    }
                    #expect(expected == size + 1)
                }
            }
        }
    }

    @Test func `a stream of a wrong statement throws`() async throws {
        try await withClient { client in
            await #expect(throws: PostgresError.self) {
                try await client.withTransaction { transaction in
                    for try await _ in transaction.stream("SELECT nonsense") { Issue.record("a row") }
                }
            }
            try await client.check()
        }
    }

    @Test func `rows are copied in, whatever they hold`() async throws {
        try await withClient { client in
            try await client.execute(#"CREATE TABLE "a b" (id bigint, t text, y bytea, ta text[])"#)
            let text = "tab\tnew\nline \\N \\. \r"
            let copied = try await client.copy(into: #""a b""#, columns: ["id", "t", "y", "ta"]) { writer in
                for number in 0..<20_000 {
                    try await writer.write([
                        .int(Int64(number)), .text(text), .bytea([0, 9, 92]), .textArray([#"a"b\"#, nil, "NULL"]),
                    ])
                }
                try await writer.write([20_000, nil, nil, nil])
            }
            #expect(copied == 20_001)
            let row = try #require(try await client.query(#"SELECT * FROM "a b" WHERE id = 19999"#).first)
            #expect(try row.decode("t") == text)
            #expect(try row.decode("y", as: [UInt8].self) == [0, 9, 92])
            #expect(try row.decode("ta", as: [String?].self) == [#"a"b\"#, nil, "NULL"])
        }
    }

    @Test func `a copy that fails leaves no row and a usable connection`() async throws {
        try await withClient {
            $0.connections = 1
        } _: { client in
            try await client.execute("CREATE TABLE t (id bigint)")
            await #expect { try await client.copy(into: "t", columns: ["id"]) { try await $0.write(["x"]) } } throws: {
                ($0 as? PostgresError)?.sqlstate == "22P02"
            }
            await #expect {
                try await client.copy(into: "missing", columns: ["id"]) { try await $0.write([1]) }
            } throws: {
                ($0 as? PostgresError)?.sqlstate == "42P01"
            }
            await #expect(throws: Refusal.self) {
                try await client.copy(into: "t", columns: ["id"]) { writer in
                    for number in 0..<30_000 { try await writer.write([.int(Int64(number))]) }
                    throw Refusal()
                }
            }
            try await client.withTransaction { transaction in
                try await transaction.copy(into: "t", columns: ["id"]) { try await $0.write([1]) }
                try await transaction.execute("INSERT INTO t VALUES (2)")
            }
            #expect(try await client.query("SELECT id FROM t ORDER BY id").decode(Int.self) == [1, 2])
        }
    }

    private static func file(_ number: Int, _ name: String, _ sql: String) -> (Int, String, [UInt8]) {
        (number, name, Array(sql.utf8))
    }

    @Test func `functions are applied again when their text changed`() async throws {
        try await withClient { client in
            func says(_ answer: Int, files: Int) -> Migrations {
                let sql = "CREATE OR REPLACE FUNCTION said() RETURNS int LANGUAGE sql AS 'SELECT \(answer)';"
                return Migrations(
                    owner: "test", files: (1...files).map { Self.file($0, "file \($0)", "") },
                    functions: [("said", Array(sql.utf8)), ("other", Array("SELECT 1;".utf8))])
            }
            for (migrations, applied, answer) in [
                (says(1, files: 1), ["file 1", "said", "other"], 1), (says(1, files: 1), [], 1),
                (says(2, files: 1), ["said"], 2), (says(3, files: 2), ["file 2", "said"], 3),
            ] {
                let done = try await migrations.apply(on: client)
                #expect(done == applied)
                let said = try await client.query("SELECT said()").decode(Int.self)
                #expect(said == [answer])
            }
            // A version from before the second file.
            let error = await #expect(throws: PostgresError.self) { try await says(1, files: 1).apply(on: client) }
            #expect(error?.code == .migration && error?.message.contains("newer version") == true)
            #expect(try await client.query("SELECT said()").decode(Int.self) == [3])
        }
    }

    @Test func `a migration whose table others hold changes nothing, and doesn't block them`() async throws {
        // For the reader, the migration, the writer, and who looks at them.
        try await withClient({ $0.connections = 4 }) { client in
            let table = Self.file(1, "table", "CREATE TABLE m (id int);")
            let more = Migrations(
                owner: "test",
                files: [
                    table, Self.file(2, "other", "CREATE TABLE n ();"),
                    Self.file(3, "more", "ALTER TABLE m ADD x int;"),
                ])
            try await Migrations(owner: "test", files: [table]).apply(on: client)
            try await client.withTransaction { reader in
                _ = try await reader.query("SELECT count(*) FROM m")
                @Sendable func waiting() async throws -> Int {
                    try await client.query(
                        """
                        SELECT count(*)::int FROM pg_locks
                        WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                        """
                    ).decode(Int.self)[0]
                }
                // Again and again, as a service does: however slow this machine is, the writer meets one.
                let isWritten = Locked(false)
                let migration = Task {
                    while !isWritten.withLock({ $0 }) {
                        let error = await #expect(throws: PostgresError.self) { try await more.apply(on: client) }
                        #expect(error?.sqlstate == "55P03")
                    }
                }
                try await eventually("a migration waits for the reader") { try await waiting() > 0 }
                try await client.execute("INSERT INTO m VALUES (1)")
                isWritten.withLock { $0 = true }
                await migration.value
            }
            #expect(try await more.apply(on: client) == ["other", "more"])
        }
    }

    @Test func `migrations are applied once, also by two concurrent starts`() async throws {
        try await withClient { client in
            let table = Self.file(1, "table", "CREATE TABLE m (id int); INSERT INTO m VALUES (1);")
            let first = Migrations(owner: "test", files: [table])
            let applied = try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<2 { group.addTask { try await first.apply(on: client) } }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(applied == ["table"])
            let broken = Migrations(
                owner: "test", files: [table, Self.file(2, "more", "ALTER TABLE m ADD x int; SELECT 1/0;")])
            await #expect(throws: PostgresError.self) { try await broken.apply(on: client) }
            let second = Migrations(owner: "test", files: [table, Self.file(2, "more", "ALTER TABLE m ADD x int;")])
            #expect(try await second.apply(on: client) == ["more"])
            #expect(try await second.apply(on: client) == [])
            #expect(try await client.query("SELECT id, x FROM m").count == 1)
            let renamed = Migrations(owner: "test", files: [Self.file(1, "other", "")])
            await #expect { try await renamed.apply(on: client) } throws: { ($0 as? PostgresError)?.code == .migration }
        }
    }
}

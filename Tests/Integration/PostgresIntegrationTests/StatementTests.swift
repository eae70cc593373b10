import Postgres
import Testing

@Suite struct StatementTests {
    @Test func `values survive a round trip`() async throws {
        try await withConnection { connection in
            try await connection.execute(
                """
                CREATE TABLE v (t text, i bigint, d double precision, b boolean, y bytea, j json, ta text[], ia bigint[], ba boolean[], ya bytea[])
                """)
            let text = "ü \"quoted\" \\ back\nline\t'"
            let sent: [PostgresValue] = [
                .text(text), .int(.min), .double(-0.1), .bool(true), .bytea([0, 255, 92, 39]),
                .json(#"{"b":1,"a":"\u0000"}"#),
                .textArray(["a,b", nil, "", "NULL", #"q"\x"#]), .int8Array([.max, .min]), .boolArray([true, nil]),
                .byteaArray([[0, 1], []]),
            ]
            try await connection.execute("INSERT INTO v VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)", sent)
            let row = try #require(
                try await connection.query("SELECT *, ya[1] AS first, ba[2] AS nothing FROM v").first)
            #expect(try row.decode("t") == text)
            #expect(try row.decode("i") == Int64.min)
            #expect(try row.decode("d") == -0.1)
            #expect(try row.decode("b") == true)
            #expect(try row.decode("y", as: [UInt8].self) == [0, 255, 92, 39])
            #expect(try row.decode("j") == #"{"b":1,"a":"\u0000"}"#)
            #expect(try row.decode("ta", as: [String?].self) == ["a,b", nil, "", "NULL", #"q"\x"#])
            #expect(try row.decode("ia", as: [Int64].self) == [.max, .min])
            #expect(try row.decode("first", as: [UInt8].self) == [0, 1])
            #expect(try row.decode("nothing", as: Bool?.self) == nil)
            let (first, second) = try row.decode((String, Int64).self)
            #expect(first == text && second == .min)
        }
    }

    @Test func `unnest inserts many rows at once`() async throws {
        try await withConnection { connection in
            try await connection.execute("CREATE TABLE v (id bigint, body json)")
            let bodies = (0..<1000).map { Optional(Array(#"{"n":"\#($0)"}"#.utf8)) }
            let inserted = try await connection.execute(
                "INSERT INTO v SELECT i, b::json FROM unnest($1, $2) AS x(i, b)",
                [.int8Array((0..<1000).map { $0 }), .utf8Array(bodies)])
            #expect(inserted == 1000)
            let found = try await connection.query(
                "SELECT body FROM v WHERE id = any($1) ORDER BY id", [.int8Array([7, 999])])
            #expect(try found.decode(String.self) == [#"{"n":"7"}"#, #"{"n":"999"}"#])
        }
    }

    @Test func `a value that doesn't fit a column's type is refused`() async throws {
        try await withConnection { connection in
            let row = try #require(try await connection.query("SELECT 'x' AS a, null AS b, 300000 AS c").first)
            #expect(throws: PostgresError.self) { try row.decode("a", as: Int.self) }
            #expect(throws: PostgresError.self) { try row.decode("b", as: String.self) }
            #expect(throws: PostgresError.self) { try row.decode("c", as: Int16.self) }
            #expect(throws: PostgresError.self) { try row.decode("missing", as: String.self) }
            #expect(throws: PostgresError.self) { try row.decode(3, as: String.self) }
        }
    }

    @Test func `a text with a NUL is refused before anything is sent`() async throws {
        try await withConnection { connection in
            await #expect { try await connection.query("SELECT $1::text", ["a\0b"]) } throws: {
                ($0 as? PostgresError)?.code == .invalidParameter
            }
            let one = try await connection.query("SELECT 1").decode(Int.self)
            #expect(one == [1])
        }
    }

    @Test func `an error names its code and hides the data`() async throws {
        try await withConnection { connection in
            try await connection.execute("CREATE TABLE u (name text CONSTRAINT only_once UNIQUE)")
            try await connection.execute("INSERT INTO u VALUES ($1)", ["secret"])
            do {
                try await connection.execute("INSERT INTO u VALUES ($1)", ["secret"])
                Issue.record("inserted twice")
            } catch let error as PostgresError {
                #expect(error.sqlstate == "23505" && error.constraint == "only_once" && error.isUniqueViolation)
                #expect(!error.isRetriable)
                #expect(!"\(error)".contains("secret"))
                #expect(String(reflecting: error).contains("secret"))
            }
        }
    }

    @Test func `one statement's failure doesn't touch those sent with it`() async throws {
        try await withConnection { connection in
            let results = try await connection.results(of: [
                "SELECT 1", "SELECT nonsense", "SELECT 3", "SELECT 1/0", "SELECT 5",
            ])
            #expect(try results[0].get().decode(Int.self) == [1])
            #expect(throws: PostgresError.self) { try results[1].get() }
            #expect(try results[2].get().decode(Int.self) == [3])
            #expect(throws: PostgresError.self) { try results[3].get() }
            #expect(try results[4].get().decode(Int.self) == [5])
        }
    }

    @Test func `each of many tasks gets the answers of its own statements`() async throws {
        try await withConnection { connection in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<500 {
                    group.addTask {
                        let rows = try await connection.query("SELECT $1::int + 1", [.int(Int64(number))])
                        #expect(try rows.decode(Int.self) == [number + 1])
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `more statements than the cache holds still run`() async throws {
        try await withConnection {
            $0.statementCacheSize = 4
        } _: { connection in
            for round in 0..<3 {
                for number in 0..<10 {
                    let rows = try await connection.query("SELECT \(number) + $1::int", [.int(Int64(round))])
                    #expect(try rows.decode(Int.self) == [number + round])
                }
            }
            let kept = try await connection.query(
                PostgresStatement("SELECT count(*) FROM pg_prepared_statements", isPrepared: false))
            #expect(try kept.decode(Int.self)[0] <= 4)
        }
    }

    @Test func `a plan that a migration outdated is forgotten`() async throws {
        try await withConnection { connection in
            try await connection.execute("CREATE TABLE t (a int)")
            _ = try await connection.query("SELECT * FROM t")
            try await connection.execute("ALTER TABLE t ADD b text")
            await #expect { try await connection.query("SELECT * FROM t") } throws: {
                ($0 as? PostgresError)?.isRetriable == true
            }
            #expect(try await connection.query("SELECT * FROM t").columns.count == 2)
        }
    }
}

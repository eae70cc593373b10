import Foundation
import SQLite
import Testing

@Suite struct SQLiteTests {
    private struct Refusal: Error {}

    /// A folder that is gone after the test.
    private func withFolder<R>(_ body: (String) async throws -> R) async throws -> R {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("sqlite-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // a temporary folder
        return try await body(folder.path)
    }

    @Test func `values survive a round trip`() async throws {
        let database = try await SQLiteDatabase.open(path: ":memory:")
        try await database.execute("CREATE TABLE v (n, i, r, t, b, empty)")
        let values: [SQLiteValue] = [nil, .integer(.min), 0.1, "a\0ü", .blob([0, 255]), .blob([])]
        #expect(try await database.execute("INSERT INTO v VALUES (?, ?, ?, ?, ?, ?)", values) == 1)
        let row = try #require(try await database.query("SELECT * FROM v").first)
        #expect(row.values == values)
        #expect(try row.decode("i") == Int64.min)
        #expect(try row.decode("t") == "a\0ü")
        #expect(try row.decode("n", as: Double?.self) == nil)
        #expect(try row.decode("b", as: [UInt8]?.self) == [0, 255])
        #expect(throws: SQLiteError.self) { try row.decode("t", as: Int.self) }
        #expect(throws: SQLiteError.self) { try row.decode("n", as: String.self) }
        #expect(throws: SQLiteError.self) { try row.decode("missing", as: String.self) }
    }

    @Test func `an error names its kind and hides the data`() async throws {
        let database = try await SQLiteDatabase.open(path: ":memory:")
        try await database.execute("CREATE TABLE u (name TEXT UNIQUE)")
        try await database.execute("INSERT INTO u VALUES (?)", ["a"])
        await #expect { try await database.execute("INSERT INTO u VALUES (?)", ["a"]) } throws: {
            ($0 as? SQLiteError)?.code == .constraint && !"\($0)".contains("u.name")
        }
        await #expect { try await database.query("SELECT ?, ?", [1]) } throws: {
            ($0 as? SQLiteError)?.code == .parameters
        }
        await #expect { try await database.query("SELECT nonsense") } throws: {
            String(reflecting: $0).contains("nonsense")
        }
        let count = try await database.query("SELECT count(*) FROM u")[0].decode(0, as: Int.self)
        #expect(count == 1)
    }

    @Test func `a transaction that throws is rolled back, an inner one only its own part`() async throws {
        let database = try await SQLiteDatabase.open(path: ":memory:")
        try await database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        await #expect(throws: Refusal.self) {
            try await database.transaction { database in
                try database.execute("INSERT INTO t VALUES (1)")
                throw Refusal()
            }
        }
        try await database.transaction { database in
            try database.execute("INSERT INTO t VALUES (2)")
            #expect(throws: Refusal.self) {
                try database.transaction { database in
                    try database.execute("INSERT INTO t VALUES (3)")
                    throw Refusal()
                }
            }
            try database.transaction { try $0.execute("INSERT INTO t VALUES (4)") }
        }
        let ids = try await database.query("SELECT id FROM t ORDER BY id").map { try $0.decode(0, as: Int.self) }
        #expect(ids == [2, 4])
        #expect(await database.lastInsertedRow == 4)
    }

    @Test func `a statement may run inside itself, and more than the cache holds`() async throws {
        var configuration = SQLiteConfiguration(path: ":memory:")
        configuration.statementCacheSize = 2
        let database = try await SQLiteDatabase.open(configuration)
        let pairs = try await database.snapshot { database in
            var pairs = 0
            let sql = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?) SELECT x FROM n"
            try database.forEach(sql, [5]) { outer in
                try database.forEach(sql, [.integer(try outer.decode(0))]) { _ in pairs += 1 }
                for number in 0..<5 { _ = try database.query("SELECT \(number)") }
            }
            return pairs
        }
        #expect(pairs == 15)
    }

    @Test func `two connections see each other's commits, and one waits for the other`() async throws {
        try await withFolder { folder in
            let path = folder + "/db"
            let first = try await SQLiteDatabase.open(path: path)
            let second = try await SQLiteDatabase.open(path: path)
            try await first.execute("CREATE TABLE t (id INTEGER)")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for database in [first, second] {
                    group.addTask {
                        for _ in 0..<50 {
                            try await database.transaction { database in
                                let next = try database.query("SELECT count(*) FROM t")[0].decode(0, as: Int64.self)
                                try database.execute("INSERT INTO t VALUES (?)", [.integer(next)])
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let rows = try await second.query("SELECT count(*), count(DISTINCT id) FROM t")
            #expect(rows[0].values == [100, 100])
            let mode = try await second.query("PRAGMA journal_mode")[0].values
            #expect(mode == ["wal"])
        }
    }

    @Test func `a schema is migrated once, and a newer one refused`() async throws {
        try await withFolder { folder in
            let path = folder + "/db"
            do {
                let database = try await SQLiteDatabase.open(path: path)
                try await database.migrate(["CREATE TABLE t (a); INSERT INTO t VALUES (1)"])
                await #expect(throws: SQLiteError.self) {
                    try await database.migrate(["", "ALTER TABLE t ADD b; SELECT nonsense"])
                }
                await database.close()
                await #expect { try await database.query("SELECT 1") } throws: { ($0 as? SQLiteError)?.code == .closed }
            }
            let database = try await SQLiteDatabase.open(path: path)
            try await database.migrate(["nonsense", "ALTER TABLE t ADD b"])
            try await database.migrate(["nonsense", "nonsense"])
            let rows = try await database.query("SELECT a, b FROM t")
            #expect(rows.map(\.values) == [[1, nil]])
            await #expect { try await database.migrate([""]) } throws: { ($0 as? SQLiteError)?.code == .schema }
        }
    }

    @Test func `a file that isn't a database is refused`() async throws {
        try await withFolder { folder in
            let path = folder + "/db"
            try Data(repeating: 7, count: 10_000).write(to: URL(fileURLWithPath: path))
            await #expect { try await SQLiteDatabase.open(path: path) } throws: {
                ($0 as? SQLiteError)?.code == .corrupt
            }
            await #expect(throws: SQLiteError.self) { try await SQLiteDatabase.open(path: folder + "/none/db") }
        }
    }
}

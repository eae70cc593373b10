/// The numbered SQL files of one owner, applied once each and in order.
public struct Migrations: Sendable {
    /// One file.
    public struct File: Sendable {
        /// 1, 2, 3, …
        public var number: Int
        public var name: String
        /// Statements separated by semicolons; run in one transaction with the other files.
        public var sql: String

        public init(number: Int, name: String, sql: String) {
            self.number = number
            self.name = name
            self.sql = sql
        }
    }

    public var owner: String
    public var files: [File]

    public init(owner: String, files: [(number: Int, name: String, sql: String)]) {
        self.owner = owner
        self.files = files.map(File.init)
    }

    /// Of all owners, in all programs: migrations are rare, and one that creates what another refers to must not run beside it.
    private static let lock: Int64 = 0x7061_7274_6974_61

    /// Applies what isn't applied yet, all in one transaction, and returns the numbers. Whoever starts at the same time waits.
    ///
    /// Throws ``PostgresError/Code/migration`` where a number was applied under another name, or the numbers aren't 1, 2, 3, …
    @discardableResult
    public func apply(on client: PostgresClient) async throws -> [Int] {
        for (index, file) in files.enumerated() where file.number != index + 1 {
            throw PostgresError(.migration, "migration \(file.number) of \(owner) is in place \(index + 1)")
        }
        return try await client.withTransaction { transaction in
            // By the simple protocol, which has no time limit: another program may be at a long migration.
            try await transaction.runScript(
                """
                SET LOCAL statement_timeout = 0;
                SET LOCAL lock_timeout = 0;
                SET LOCAL client_min_messages = warning;
                SELECT pg_advisory_xact_lock(\(Self.lock));
                CREATE SCHEMA IF NOT EXISTS partita;
                CREATE TABLE IF NOT EXISTS partita.migrations (
                    owner text NOT NULL,
                    number integer NOT NULL,
                    name text NOT NULL,
                    applied_at timestamptz NOT NULL DEFAULT now(),
                    PRIMARY KEY (owner, number)
                );
                """)
            let rows = try await transaction.query(
                "SELECT number, name FROM partita.migrations WHERE owner = $1", [.text(owner)])
            let applied = Dictionary(uniqueKeysWithValues: try rows.decode((Int, String).self))
            var done: [Int] = []
            for file in files {
                if let name = applied[file.number] {
                    guard name == file.name else {
                        throw PostgresError(
                            .migration,
                            "migration \(file.number) of \(owner) was applied as \(name), now it is \(file.name)")
                    }
                    continue
                }
                do {
                    try await transaction.runScript(file.sql)
                } catch var error as PostgresError {
                    error.sql = "\(owner) \(file.number) \(file.name)"
                    throw error
                }
                try await transaction.execute(
                    "INSERT INTO partita.migrations (owner, number, name) VALUES ($1, $2, $3)",
                    [.text(owner), .int(Int64(file.number)), .text(file.name)])
                done.append(file.number)
            }
            return done
        }
    }
}

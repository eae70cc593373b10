/// The SQL files of one owner: tables, in numbered files that are applied once each and in order, and functions, in files that are
/// applied again whenever their text has changed.
public struct Migrations: Sendable {
    /// Statements separated by semicolons.
    private struct File {
        let name: String
        let sql: String

        init(name: String, sql: [UInt8]) {
            self.name = name
            self.sql = String(decoding: sql, as: UTF8.self)
        }
    }

    private let owner: String
    private let files: [(number: Int, file: File)]
    private let functions: [File]

    /// - Parameters:
    ///   - files: Numbered 1, 2, 3, … A released file is never edited.
    ///   - functions: Files that can be applied repeatedly, in an order in which they can be applied to an empty database. They
    ///     come after the numbered files, so no numbered file may call them. A function whose arguments or result change must first
    ///     be dropped by a numbered file.
    public init(
        owner: String, files: [(number: Int, name: String, sql: [UInt8])],
        functions: [(name: String, sql: [UInt8])] = []
    ) {
        self.owner = owner
        self.files = files.map { ($0.number, File(name: $0.name, sql: $0.sql)) }
        self.functions = functions.map(File.init)
    }

    /// The advisory lock of all owners in all programs: migrations are rare, and one may refer to objects that another creates, so
    /// they must not run concurrently.
    private static let lock: Int64 = 0x7061_7274_6974_61

    /// How long a statement waits for a lock: whoever wants to write to the table waits behind it.
    private static let lockTimeout = "2s"

    /// Applies the files that aren't applied yet, in one transaction. Other processes that start at the same time wait.
    ///
    /// - Throws: ``PostgresError`` with the code `migration` if a number was applied under another name, the numbers aren't 1, 2, 3, …, or a
    ///   newer version has applied more: this one may not understand what that has written. When others hold a table for more than
    ///   two seconds, nothing has changed, and the caller tries again.
    /// - Returns: the names of the files that were applied.
    @discardableResult
    public func apply(on client: PostgresClient) async throws -> [String] {
        for (index, entry) in files.enumerated() where entry.number != index + 1 {
            throw PostgresError(.migration, "migration \(entry.number) of \(owner) is in place \(index + 1)")
        }
        return try await client.withTransaction { transaction in
            // Uses the simple protocol, which has no time limit, since another program may be running a long migration.
            try await transaction.runScript(
                """
                SET LOCAL statement_timeout = 0;
                SET LOCAL lock_timeout = 0;
                SET LOCAL client_min_messages = warning;
                SELECT pg_advisory_xact_lock(\(Self.lock));
                SET LOCAL lock_timeout = '\(Self.lockTimeout)';
                CREATE SCHEMA IF NOT EXISTS partita;
                CREATE TABLE IF NOT EXISTS partita.migrations (
                    owner text NOT NULL,
                    number integer NOT NULL,
                    name text NOT NULL,
                    applied_at timestamptz NOT NULL DEFAULT now(),
                    PRIMARY KEY (owner, number)
                );
                CREATE TABLE IF NOT EXISTS partita.functions (
                    owner text NOT NULL,
                    name text NOT NULL,
                    digest bytea NOT NULL,
                    applied_at timestamptz NOT NULL DEFAULT now(),
                    PRIMARY KEY (owner, name)
                );
                """)
            return try await applyFiles(in: transaction) + applyFunctions(in: transaction)
        }
    }

    private func applyFiles(in transaction: PostgresTransaction) async throws -> [String] {
        let rows = try await transaction.query(
            "SELECT number, name FROM partita.migrations WHERE owner = $1", [.text(owner)])
        let applied = Dictionary(uniqueKeysWithValues: try rows.decode((Int, String).self))
        if let newest = applied.max(by: { $0.key < $1.key }), newest.key > files.count {
            throw PostgresError(
                .migration,
                """
                a newer version was started on this database: it has migration \(newest.key) (\(newest.value)) of \(owner), which this \
                version doesn't know. Start the newer version, or restore a backup from before
                """)
        }
        var done: [String] = []
        for (number, file) in files {
            if let name = applied[number] {
                guard name == file.name else {
                    throw PostgresError(
                        .migration, "migration \(number) of \(owner) was applied as \(name), now it is \(file.name)")
                }
                continue
            }
            try await run(file, in: transaction)
            try await transaction.execute(
                "INSERT INTO partita.migrations (owner, number, name) VALUES ($1, $2, $3)",
                [.text(owner), .int(Int64(number)), .text(file.name)])
            done.append(file.name)
        }
        return done
    }

    private func applyFunctions(in transaction: PostgresTransaction) async throws -> [String] {
        let changed = try await transaction.query(
            """
            SELECT f.name FROM unnest($2::text[], $3::text[]) f(name, sql)
            LEFT JOIN partita.functions a ON a.owner = $1 AND a.name = f.name
            WHERE a.digest IS DISTINCT FROM sha256(convert_to(f.sql, 'UTF8'))
            """,
            [.text(owner), .textArray(functions.map(\.name)), .textArray(functions.map(\.sql))]
        ).decode(String.self)
        let due = functions.filter { changed.contains($0.name) }
        for file in due {
            try await run(file, in: transaction)
            try await transaction.execute(
                """
                INSERT INTO partita.functions (owner, name, digest) VALUES ($1, $2, sha256(convert_to($3, 'UTF8')))
                ON CONFLICT (owner, name) DO UPDATE SET digest = excluded.digest, applied_at = now()
                """, [.text(owner), .text(file.name), .text(file.sql)])
        }
        return due.map(\.name)
    }

    private func run(_ file: File, in transaction: PostgresTransaction) async throws {
        do {
            try await transaction.runScript(file.sql)
        } catch var error as PostgresError {
            error.sql = "\(owner) \(file.name)"
            throw error
        }
    }
}

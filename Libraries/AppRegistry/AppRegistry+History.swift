public import AppDefinition
import DocumentModel
import Postgres

/// The history of an app: its last versions, as far as they take no more than `historyBytes`, and always the current one and the one
/// before it.
extension AppRegistry {
    /// The most versions that are kept of an app.
    public static let historyCount = 50
    /// How many versions are kept that clients have made in development mode.
    static let clientVersionCount = 10
    /// Who deploys in development mode, as the history says it.
    public static let developmentMode = "development mode"
    /// The most bytes that the versions of an app take by default.
    public static let historyBytes = 256 << 20

    /// The versions that are kept of an app, the newest first; empty when it was never deployed.
    public func history(of app: String) async throws -> [AppVersion] {
        let rows = try await client.query(
            """
            SELECT v.version, (extract(epoch FROM v.deployed_at) * 1000)::bigint, v.digest, v.bytes, v.message, v.deployed_by,
                v.restores, v.version = a.version AND NOT a.is_removed
            FROM partita.app_versions v JOIN partita.apps a ON a.id = v.app WHERE v.app = $1 ORDER BY v.version DESC
            """, [.text(app)])
        return try rows.map { row in
            let (number, at, digest, bytes, message, by, restores, isCurrent) = try row.decode(
                (Int64, Int64, String?, Int64, String?, String?, Int64?, Bool).self)
            return AppVersion(
                number: number, deployedAt: at, digest: digest, bytes: bytes, message: message, by: by,
                restores: restores, isCurrent: isCurrent)
        }
    }

    /// A version of an app as it was deployed, with the files that aren't part of its definition; `nil` stands for the last one, also of an app
    /// that was removed.
    /// - Throws: `AppRegistryError` with code `appUnknown` or `versionUnknown`.
    public func version(_ number: Int64?, of app: String) async throws -> (app: DeployedApp, files: AppFiles) {
        let known = try await history(of: app)
        guard let last = known.first else {
            throw AppRegistryError(.appUnknown, "no app \(app) was ever deployed")
        }
        guard let loaded = try await load(app, number ?? last.number, from: client) else {
            let numbers = known.map { "\($0.number)" }.joined(separator: ", ")
            throw AppRegistryError(
                .versionUnknown, "the history of \(app) has no version \(number ?? 0); there are: \(numbers)")
        }
        var files = loaded.definition.files
        let stored = try await client.query(
            """
            SELECT o.key, f.content FROM partita.app_versions v, json_each_text(v.other_files) o
            JOIN partita.app_files f ON f.app = $1 AND f.digest = o.value
            WHERE v.app = $1 AND v.version = $2
            """, [.text(app), .int(loaded.version)])
        for row in stored { files.otherFiles[try row.decode(0, as: String.self)] = try row.decode(1, as: [UInt8].self) }
        return (loaded, files)
    }

    /// The last version of an app, also of one that was removed; `nil` when it was never deployed.
    public func lastVersion(of app: String) async throws -> DeployedApp? {
        let rows = try await client.query(
            "SELECT max(version) FROM partita.app_versions WHERE app = $1", [.text(app)])
        guard let number: Int64 = try rows.first?.decode(0, as: Int64?.self) else { return nil }
        return try await load(app, number, from: client)
    }

    /// The apps whose documents aren't all in the partitions of their current version yet.
    public func placingApps() async throws -> [String] {
        try await client.query("SELECT id FROM partita.apps WHERE is_placing AND NOT is_removed ORDER BY id")
            .decode(String.self)
    }

    /// Records that the documents of an app's version are in their partitions.
    public func placed(_ app: String, version: Int64) async throws {
        try await client.execute(
            "UPDATE partita.apps SET is_placing = false WHERE id = $1 AND version = $2", [.text(app), .int(version)])
    }

    // MARK: Storing

    /// Stores files that aren't part of the definition.
    /// - Parameter compressed: as `compressed(_:)` returns them.
    /// - Returns: their digests by path, sorted.
    static func store(
        _ files: [ExactText: [UInt8]], compressed: [ExactText: [UInt8]], of app: String,
        in transaction: PostgresTransaction
    ) async throws -> Document {
        let paths = files.keys.sorted()
        var digests = Document()
        // In parts, so that no message gets large.
        var rest = paths[...]
        while !rest.isEmpty {
            var part: [(path: ExactText, bytes: [UInt8])] = []
            var total = 0
            while let path = rest.first, part.isEmpty || total < 4 << 20 {
                let bytes = files[path] ?? []
                part.append((path, bytes))
                total += bytes.count + (compressed[path]?.count ?? 0)
                rest.removeFirst()
            }
            let rows = try await transaction.query(
                """
                WITH given AS (
                    SELECT encode(sha256(content), 'hex') AS digest, content, gzip, place
                    FROM unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY g(content, gzip, place)
                ), stored AS (
                    INSERT INTO partita.app_files AS present (app, digest, content, gzip)
                    SELECT DISTINCT ON (digest) $1, digest, content, gzip FROM given ORDER BY digest, gzip
                    ON CONFLICT (app, digest) DO UPDATE SET gzip = excluded.gzip
                        WHERE present.gzip IS NULL AND excluded.gzip IS NOT NULL
                )
                SELECT digest FROM given ORDER BY place
                """, [.text(app), .byteaArray(part.map(\.bytes)), .byteaArray(part.map { compressed[$0.path] })]
            ).decode(String.self)
            for (file, digest) in zip(part, rows) { digests[file.path.text] = .string(digest) }
        }
        return digests
    }

    static func otherFiles(
        of app: String, _ version: Int64, in transaction: PostgresTransaction
    ) async throws -> Document {
        let rows = try await transaction.query(
            "SELECT other_files::text FROM partita.app_versions WHERE app = $1 AND version = $2",
            [.text(app), .int(version)])
        return try rows.first.map { try ExtendedJSON.parseDocument($0.decode(0, as: String.self)) } ?? [:]
    }

    /// Computes a version's digest and size from what was stored.
    static func measure(_ version: Int64, of app: String, in transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            UPDATE partita.app_versions v SET
                bytes = octet_length(v.definition::text),
                digest = encode(sha256(convert_to(
                    v.definition::text || E'\\n' || coalesce((
                        SELECT p.content::text FROM partita.app_packages p WHERE p.app = v.app AND p.version = v.packages
                    ), '') || E'\\n' || v.other_files::text, 'UTF8')), 'hex')
            WHERE v.app = $1 AND v.version = $2
            """, [.text(app), .int(version)])
    }

    /// Removes the oldest versions beyond the limits, and what only they used.
    static func prune(_ app: String, to limit: Int, in transaction: PostgresTransaction) async throws {
        // What clients add must not displace the versions of operators.
        try await transaction.execute(
            """
            DELETE FROM partita.app_versions WHERE app = $1 AND version IN (
                SELECT version FROM (
                    SELECT version, deployed_by IS NOT DISTINCT FROM $4 AS by_clients, row_number() OVER (
                        PARTITION BY deployed_by IS NOT DISTINCT FROM $4 ORDER BY version DESC) AS place
                    FROM partita.app_versions WHERE app = $1) v
                WHERE place > CASE WHEN by_clients THEN $3::bigint ELSE $2::bigint END)
            """,
            [.text(app), .int(Int64(historyCount)), .int(Int64(clientVersionCount)), .text(developmentMode)])
        while true {
            try await collectGarbage(app, in: transaction)
            let rows = try await transaction.query(
                """
                SELECT (SELECT coalesce(sum(pg_column_size(definition)), 0) FROM partita.app_versions WHERE app = $1)
                    + (SELECT coalesce(sum(pg_column_size(content)), 0) FROM partita.app_packages WHERE app = $1)
                    + (SELECT coalesce(sum(pg_column_size(content) + coalesce(pg_column_size(gzip), 0)), 0)
                        FROM partita.app_files WHERE app = $1),
                    (SELECT count(*) FROM partita.app_versions WHERE app = $1)
                """, [.text(app)]
            ).decode((Int64, Int64).self)
            guard let (bytes, count) = rows.first, bytes > Int64(limit), count > 2 else { return }
            try await transaction.execute(
                """
                DELETE FROM partita.app_versions WHERE app = $1 AND version = (
                    SELECT version FROM partita.app_versions
                    WHERE app = $1 AND version < (SELECT max(version) FROM partita.app_versions WHERE app = $1)
                    ORDER BY deployed_by IS NOT DISTINCT FROM $2 DESC, version LIMIT 1)
                """, [.text(app), .text(developmentMode)])
        }
    }

    private static func collectGarbage(_ app: String, in transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            """
            DELETE FROM partita.app_packages p WHERE p.app = $1 AND NOT EXISTS (
                SELECT FROM partita.app_versions v WHERE v.app = p.app AND v.packages = p.version)
            """, [.text(app)])
        try await transaction.execute(
            """
            DELETE FROM partita.app_files f WHERE f.app = $1 AND f.digest NOT IN (
                SELECT o.value FROM partita.app_versions v, json_each_text(v.other_files) o WHERE v.app = $1)
            """, [.text(app)])
    }
}

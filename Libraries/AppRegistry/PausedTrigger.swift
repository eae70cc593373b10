import DocumentModel
public import Postgres

/// A trigger that an operator has paused.
public struct PausedTrigger: Sendable {
    @ExactText public private(set) var name: String
    /// Whether it was resumed, and what it has missed is being processed.
    public let isResuming: Bool
    /// When it was paused, in milliseconds since 1970.
    public let since: Int64
    /// Who paused it.
    public let by: String
}

extension AppRegistry {
    /// Pauses a trigger: services stop running it within seconds. A pause outlasts deployments, restarts, and the removal of the app.
    /// - Returns: `false` when it is paused already. A trigger that is being resumed is paused again.
    @discardableResult
    public func pauseTrigger(_ name: String, of app: String, by: String) async throws -> Bool {
        try await client.withTransaction { transaction in
            let count = try await transaction.execute(
                """
                INSERT INTO partita.paused_triggers AS p (app, trigger, paused_by) VALUES ($1, $2, $3)
                ON CONFLICT (app, trigger) DO UPDATE SET is_resuming = false WHERE p.is_resuming
                """, [.text(app), .text(name), .text(by)])
            if count > 0 {
                try await Self.countPauses(of: app, in: transaction)
                try await recording(transaction)
            }
            return count > 0
        }
    }

    /// Begins to resume a trigger: `trigger-workers` process what it has missed, and end the pause when nothing is left.
    /// - Returns: `false` when it isn't paused.
    @discardableResult
    public func resumeTrigger(_ name: String, of app: String) async throws -> Bool {
        try await client.withTransaction { transaction in
            let count = try await transaction.execute(
                "UPDATE partita.paused_triggers SET is_resuming = true WHERE app = $1 AND trigger = $2",
                [.text(app), .text(name)])
            if count > 0 {
                try await Self.countPauses(of: app, in: transaction)
                try await recording(transaction)
            }
            return count > 0
        }
    }

    /// Locks a trigger's pause until the transaction ends.
    /// - Parameter exclusively: against ``isPaused(_:of:exclusively:in:)`` of others, to end it.
    /// - Returns: whether the trigger is paused, or still processes what it has missed.
    public static func isPaused(
        _ name: String, of app: String, exclusively: Bool = false, in transaction: PostgresTransaction
    ) async throws -> Bool {
        try await !transaction.query(
            """
            SELECT FROM partita.paused_triggers WHERE app = $1 AND trigger = $2
            FOR \(exclusively ? "UPDATE" : "SHARE")
            """, [.text(app), .text(name)]
        ).isEmpty
    }

    /// Ends a pause that ``isPaused(_:of:exclusively:in:)`` has locked, unless it was paused again.
    /// - Returns: whether it has ended.
    @discardableResult
    public static func endPause(
        of name: String, app: String, in transaction: PostgresTransaction
    ) async throws -> Bool {
        let count = try await transaction.execute(
            "DELETE FROM partita.paused_triggers WHERE app = $1 AND trigger = $2 AND is_resuming",
            [.text(app), .text(name)])
        if count > 0 { try await countPauses(of: app, in: transaction) }
        return count > 0
    }

    private static func countPauses(of app: String, in transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            "UPDATE partita.apps SET pauses_version = pauses_version + 1 WHERE id = $1", [.text(app)])
    }

    static func pausedTriggers(of app: String, from source: some PostgresQuerying) async throws -> [PausedTrigger] {
        let rows = try await source.query(
            """
            SELECT trigger, is_resuming, (extract(epoch FROM paused_at) * 1000)::bigint, paused_by
            FROM partita.paused_triggers WHERE app = $1 ORDER BY trigger
            """, [.text(app)])
        return try rows.map { row in
            let (name, isResuming, since, by) = try row.decode((String, Bool, Int64, String).self)
            return PausedTrigger(name: name, isResuming: isResuming, since: since, by: by)
        }
    }
}

extension DeployedApp {
    /// What a directory compares to see whether it has the newest state.
    var revisions: AppRegistry.Revisions {
        AppRegistry.Revisions(version: version, secrets: secretsVersion, pauses: pausesVersion)
    }
}

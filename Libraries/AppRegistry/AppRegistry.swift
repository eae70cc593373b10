public import AppDefinition
public import DocumentModel
public import Postgres
public import Secrets

/// The deployed apps in Postgres: the tables `apps`, `app_versions`, `app_packages`, `app_files`, `app_secrets`, `paused_triggers` and
/// `app_instances`, which only this type writes.
public struct AppRegistry: Sendable {
    let client: PostgresClient
    let keys: KeyRing
    private let historyBytes: Int
    let recording: @Sendable (PostgresTransaction) async throws -> Void

    /// - Parameters:
    ///   - keys: the keys that secrets are encrypted with; without a key no secret can be set.
    ///   - historyBytes: the most bytes that the versions of an app take in the database, compressed as Postgres stores them.
    ///   - recording: writes a record of what an operator does, at the end of the transaction of the change: deploying and removing an app, setting
    ///     and removing a secret, pausing and resuming a trigger.
    public init(
        client: PostgresClient, keys: KeyRing = .empty, historyBytes: Int = AppRegistry.historyBytes,
        recording: @escaping @Sendable (PostgresTransaction) async throws -> Void = { _ in }
    ) {
        self.client = client
        self.keys = keys
        self.historyBytes = historyBytes
        self.recording = recording
    }

    /// Creates or updates the tables. Safe when several processes start at once.
    public func migrate() async throws { try await Self.migrations.apply(on: client) }

    /// Deploys a definition as the app's next version, in one transaction.
    ///
    /// A definition that is already deployed doesn't make a new version. Services load the new version within seconds, after a
    /// message on the topic `app-definitions` or, without it, with their next poll.
    ///
    /// - Parameter alongside: what else has to change with the version, in its transaction.
    /// - Returns: the deployed version, and whether it is new.
    @discardableResult
    public func deploy(
        _ definition: AppDefinition, as deployment: DeploymentRecord = DeploymentRecord(),
        alongside: @Sendable (PostgresTransaction) async throws -> Void = { _ in }
    ) async throws -> (app: DeployedApp, isNew: Bool) {
        let compressed = await Self.compressed(definition)
        return try await client.withTransaction { transaction in
            // Creates the row if necessary and locks it, so that two deployments of an app are serialized.
            let current = try await transaction.query(
                """
                INSERT INTO partita.apps (id, name, version, is_removed) VALUES ($1, $2, 0, true)
                ON CONFLICT (id) DO UPDATE SET name = excluded.name
                RETURNING version, is_removed, (extract(epoch FROM now()) * 1000)::bigint
                """, [.text(definition.id), .text(definition.name)]
            ).decode((Int64, Bool, Int64).self)
            let (version, isRemoved, time) = current.first ?? (0, true, 0)
            try await alongside(transaction)
            let others = try await Self.store(
                definition.files.otherFiles, compressed: compressed, of: definition.id, in: transaction)
            let present = isRemoved ? nil : try await load(definition.id, version, from: transaction)
            if let present, present.definition.files == definition.files,
                try await Self.otherFiles(of: definition.id, version, in: transaction) == others
            {
                try await recording(transaction)
                return (present, false)
            }
            let beginnings = TriggerBeginnings(of: definition, at: time, after: present)
            _ = try await transaction.execute(
                """
                INSERT INTO partita.app_versions (
                    app, version, definition, other_files, message, deployed_by, restores, trigger_beginnings)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                """,
                [
                    .text(definition.id), .int(version + 1), .json(ExtendedJSON.print(.document(definition.document))),
                    .json(ExtendedJSON.print(.document(others))), PostgresValue(deployment.message),
                    PostgresValue(deployment.by), PostgresValue(deployment.restores),
                    .json(ExtendedJSON.print(.document(beginnings.document))),
                ])
            try await Self.store(
                definition.files.packages, of: definition.id, version: version + 1, after: present, in: transaction)
            try await Self.measure(version + 1, of: definition.id, in: transaction)
            _ = try await transaction.execute(
                """
                UPDATE partita.apps SET version = $2, is_removed = false, deployed_at = now(), is_placing = is_placing OR $3
                WHERE id = $1
                """,
                [.text(definition.id), .int(version + 1), .bool(deployment.movesDocuments)])
            try await Self.prune(definition.id, to: historyBytes, in: transaction)
            guard let app = try await load(definition.id, version + 1, from: transaction) else {
                throw AppRegistryError(.appUnknown, "the row that was just written doesn't exist")
            }
            try await recording(transaction)
            return (app, true)
        }
    }

    /// Stores a version's packages, or refers to those of the version before it when they are the same.
    private static func store(
        _ packages: AppPackages, of app: String, version: Int64, after present: DeployedApp?,
        in transaction: PostgresTransaction
    ) async throws {
        guard !packages.isEmpty else { return }
        if let present, present.definition.files.packages == packages {
            try await transaction.execute(
                """
                UPDATE partita.app_versions v SET packages = former.packages
                FROM partita.app_versions former
                WHERE v.app = $1 AND v.version = $2 AND former.app = $1 AND former.version = $3
                """, [.text(app), .int(version), .int(present.version)])
            return
        }
        try await transaction.execute(
            "INSERT INTO partita.app_packages (app, version, content) VALUES ($1, $2, $3)",
            [.text(app), .int(version), .json(ExtendedJSON.print(.document(packages.document)))])
        try await transaction.execute(
            "UPDATE partita.app_versions SET packages = $2 WHERE app = $1 AND version = $2",
            [.text(app), .int(version)])
    }

    /// Removes an app from all services. Its documents, users, secrets and history stay.
    ///
    /// - Parameter alongside: runs in the transaction, after the app was removed; when it throws, the app stays.
    /// - Returns: whether it was deployed.
    @discardableResult
    public func remove(
        _ app: String, alongside: @Sendable (PostgresTransaction) async throws -> Void = { _ in }
    ) async throws -> Bool {
        try await client.withTransaction { transaction in
            let count = try await transaction.execute(
                """
                UPDATE partita.apps SET version = version + 1, is_removed = true, deployed_at = now()
                WHERE id = $1 AND NOT is_removed
                """, [.text(app)])
            try await alongside(transaction)
            if count > 0 { try await recording(transaction) }
            return count > 0
        }
    }

    /// The versions of all deployed apps, by id.
    public func versions() async throws -> [ExactText: Int64] { try await revisions().mapValues(\.version) }

    /// The versions of an app, of its secrets, and of its paused triggers.
    struct Revisions: Hashable {
        var version: Int64
        var secrets: Int64
        var pauses: Int64
    }

    /// The versions of all deployed apps, of their secrets and of their paused triggers, by id.
    func revisions() async throws -> [ExactText: Revisions] {
        let rows = try await client.query(
            "SELECT id, version, secrets_version, pauses_version FROM partita.apps WHERE NOT is_removed")
        var revisions: [ExactText: Revisions] = [:]
        for (id, version, secrets, pauses) in try rows.decode((String, Int64, Int64, Int64).self) {
            revisions[id] = Revisions(version: version, secrets: secrets, pauses: pauses)
        }
        return revisions
    }

    /// The deployed version of an app, or `nil`.
    public func load(_ app: String) async throws -> DeployedApp? {
        try await load(app, nil, from: client)
    }

    /// Loads a version; `nil` stands for the deployed one.
    func load(
        _ app: String, _ version: Int64?, from source: some PostgresQuerying
    ) async throws -> DeployedApp? {
        let rows = try await source.query(
            """
            SELECT v.definition::text, v.version, (extract(epoch FROM v.deployed_at) * 1000)::bigint, a.secrets_version,
                a.pauses_version, v.trigger_beginnings::text, p.content::text
            FROM partita.app_versions v JOIN partita.apps a ON a.id = v.app
            LEFT JOIN partita.app_packages p ON p.app = v.app AND p.version = v.packages
            WHERE v.app = $1 AND v.version = coalesce($2::bigint, CASE WHEN a.is_removed THEN NULL ELSE a.version END)
            """, [.text(app), PostgresValue(version)]
        ).decode((String, Int64, Int64, Int64, Int64, String, String?).self)
        guard let (text, version, deployedAt, secretsVersion, pausesVersion, beginnings, stored) = rows.first else {
            return nil
        }
        let paused = pausesVersion == 0 ? [] : try await Self.pausedTriggers(of: app, from: source)
        let secrets = try await storedSecrets(of: app, from: source)
        do {
            let packages = try stored.map { try AppPackages(document: ExtendedJSON.parseDocument($0)) } ?? .none
            var definition = try AppDefinition(stored: ExtendedJSON.parseDocument(text), packages: packages)
            definition.secrets = SecretValues(secrets.values)
            return DeployedApp(
                definition: definition, version: version, deployedAt: deployedAt, secretsVersion: secretsVersion,
                unreadableSecrets: secrets.unreadable,
                triggerBeginnings: TriggerBeginnings(stored: try ExtendedJSON.parseDocument(beginnings)),
                pausedTriggers: paused, pausesVersion: pausesVersion)
        } catch {
            throw AppRegistryError(.definitionUnreadable, "version \(version) of \(app): \(error)")
        }
    }
}

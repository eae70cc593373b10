import AppDefinition
public import DocumentModel
import Postgres
public import Secrets

extension AppRegistry {
    /// Sets a secret of an app, to which values with `from_secret` and providers' `secret_config` refer. It is stored encrypted;
    /// services get it within seconds.
    /// - Throws: `AppRegistryError` with code `encryptionKeyMissing`.
    public func setSecret(_ name: String, of app: String, to value: String) async throws {
        let sealed: String
        do { sealed = try keys.seal(value) } catch {
            throw AppRegistryError(
                .encryptionKeyMissing,
                "secrets are stored encrypted: set encryption.keys (PARTITA_ENCRYPTION_KEYS) as for the services")
        }
        try await client.withTransaction { transaction in
            try await transaction.execute(
                """
                INSERT INTO partita.app_secrets (app, name, value) VALUES ($1, $2, $3)
                ON CONFLICT (app, name) DO UPDATE SET value = excluded.value
                """, [.text(app), .text(name), .text(sealed)])
            try await Self.countChange(of: app, in: transaction)
            try await recording(transaction)
        }
    }

    /// Removes a secret.
    public func removeSecret(_ name: String, of app: String) async throws {
        try await client.withTransaction { transaction in
            try await transaction.execute(
                "DELETE FROM partita.app_secrets WHERE app = $1 AND name = $2", [.text(app), .text(name)])
            try await Self.countChange(of: app, in: transaction)
            try await recording(transaction)
        }
    }

    private static func countChange(of app: String, in transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            "UPDATE partita.apps SET secrets_version = secrets_version + 1 WHERE id = $1", [.text(app)])
    }

    /// The names of the secrets that are set for an app.
    public func secretNames(of app: String) async throws -> Set<ExactText> {
        Set(
            texts: try await client.query("SELECT name FROM partita.app_secrets WHERE app = $1", [.text(app)]).decode(
                String.self))
    }

    /// The secrets of an app.
    public func secrets(of app: String) async throws -> SecretValues {
        SecretValues(try await storedSecrets(of: app, from: client).values)
    }

    func storedSecrets(
        of app: String, from source: some PostgresQuerying
    ) async throws -> (values: [ExactText: String], unreadable: [String]) {
        let rows = try await source.query("SELECT name, value FROM partita.app_secrets WHERE app = $1", [.text(app)])
        var values: [ExactText: String] = [:]
        var unreadable: [String] = []
        for (name, stored) in try rows.decode((String, String).self) {
            do { values[name] = try keys.open(stored) } catch { unreadable.append(name) }
        }
        return (values, unreadable.sorted())
    }

    /// The number of secrets of all apps by how they are stored: with which key, or in plain text.
    public func secretKeyUses() async throws -> [KeyRing.KeyUse: Int] {
        let rows = try await client.query("SELECT left(value, 40) FROM partita.app_secrets").decode(String.self)
        return Dictionary(rows.map { (KeyRing.KeyUse($0), 1) }, uniquingKeysWith: +)
    }

    /// Encrypts secrets with the current key that are stored in plain text or with a former key. Several processes may do it
    /// concurrently, also while secrets are set. Secrets that can't be read are left unchanged.
    /// - Returns: the number of secrets that were encrypted.
    @discardableResult
    public func resealSecrets() async throws -> Int {
        guard !keys.isEmpty else { return 0 }
        var count = 0
        let rows = try await client.query("SELECT app, name, value FROM partita.app_secrets")
        for (app, name, stored) in try rows.decode((String, String, String).self) where !keys.isCurrent(stored) {
            guard let value = try? keys.open(stored) else { continue }  // `secretKeyUses` shows it
            count += try await client.execute(
                "UPDATE partita.app_secrets SET value = $4 WHERE app = $1 AND name = $2 AND value = $3",
                [.text(app), .text(name), .text(stored), .text(try keys.seal(value))])
        }
        return count
    }
}

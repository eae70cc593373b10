import ChildProcesses
import Foundation
import ServiceBootstrap
import Texts

/// The key with which the secrets of a system on one machine are encrypted: created at the first start, and stored in the data
/// directory.
enum EncryptionKey {
    /// The value of `encryption.keys`: from the environment, otherwise from the file, which is created when it is missing.
    /// - Throws: when the file can't be read or written, or is missing though the database was encrypted with a key.
    static func ofSystem(in places: Places, _ configuration: LocalConfiguration) async throws -> String {
        let name = "PARTITA_ENCRYPTION_KEYS"
        do {
            if let keys = try SecretFile.value(of: name, in: CurrentEnvironment.variables)?.text, !keys.isEmpty {
                return keys
            }
        } catch {
            throw UsageError("encryption.keys \(error.message)")
        }
        if FileManager.default.fileExists(atPath: places.keyFile) {
            return try String(contentsOfFile: places.keyFile, encoding: .utf8).trimmingCharacters(
                in: .whitespacesAndNewlines)
        }
        if configuration.values["auth.keySecret"] == nil { try await requireNothingEncrypted(places, configuration) }
        var random = SystemRandomNumberGenerator()
        let key = (0..<4).map { _ in Hex.text(random.next()) }.joined()
        // No one else creates it meanwhile: whoever starts the system holds its lock.
        try DurableFile.write(Data((key + "\n").utf8), to: places.keyFile)
        return key
    }

    /// With another key the services couldn't read what is there, and would refuse to start, again and again.
    private static func requireNothingEncrypted(_ places: Places, _ configuration: LocalConfiguration) async throws {
        let isEncrypted = try await Tool.run(configuration) { tool in
            let table = "partita.auth_signing_keys"
            guard try await tool.postgres.hasTable(table) else { return false }
            return try await !tool.postgres.query("select from \(table) limit 1").isEmpty
        }
        if isEncrypted {
            throw ToolError(
                """
                \(places.keyFile) is missing, and without it nobody can read the signing keys and the apps' secrets in the database: \
                put it back from a backup, or set PARTITA_ENCRYPTION_KEYS to its text, which \(places.configFile) has as \
                encryption.keys, too. `partita up --reset` starts empty
                """)
        }
    }
}

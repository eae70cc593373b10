import ChildProcesses
import Foundation
import Secrets
import ServiceBootstrap
import ServiceEngines

/// The addresses and settings of a system's engines, for the services and this tool. `up` writes it to `partita.conf` in the data
/// directory, where the tool's other commands find it; `PARTITA_…` variables take precedence.
struct LocalConfiguration: Sendable {
    var values: [String: String]

    init(values: [String: String]) { self.values = values }

    /// The configuration of the running system, or of the one that the environment names.
    /// - Throws: `UsageError` when there is none.
    init(arguments: Arguments) throws {
        let places = Places(data: arguments.value("data"))
        var values: [String: String] = [:]
        if let text = try? String(contentsOfFile: places.configFile, encoding: .utf8) {  // there may be none
            for line in text.split(separator: "\n") where !line.hasPrefix("#") {
                let parts = line.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
                if parts.count == 2 { values[parts[0]] = parts[1] }
            }
        }
        for (name, key) in Self.variables {
            do {
                if let value = try SecretFile.value(of: name, in: CurrentEnvironment.variables)?.text {
                    values[key] = value
                }
            } catch {
                throw UsageError("\(key) \(error.message)")
            }
        }
        self.values = values
        guard values["postgres.url"] != nil else {
            throw UsageError(
                "no system was found in \(places.data): start one with `partita up`, pass its directory with --data, or set PARTITA_POSTGRES_URL"
            )
        }
    }

    private static let variables = [
        "PARTITA_POSTGRES_URL": "postgres.url", "PARTITA_REDIS_URL": "redis.url",
        "PARTITA_KAFKA_BOOTSTRAP": "kafka.bootstrap",
        "PARTITA_ENCRYPTION_KEYS": "encryption.keys", "PARTITA_AUTH_KEY_SECRET": "auth.keySecret",
        "PARTITA_KAFKA_EMBEDDED": "kafka.embedded", "PARTITA_KAFKA_POOL": "kafka.pool", "PARTITA_AUTH_URL": "auth.url",
        "PARTITA_HOSTING_URL": "hosting.url",
    ]

    /// The engines' configuration, with the keys that the services use.
    /// - Throws: `UsageError` that names the invalid key.
    func engines() throws -> Configuration {
        let keys = EngineSettings.keys
        let known = Set(keys.map(\.name))
        // Variables that are also in the file are among the values already.
        let names = Set(Self.variables.keys.flatMap { [$0, SecretFile.variable(of: $0)] })
        do {
            // Most commands need no broker; one that does fails with this name, which doesn't exist.
            let noBroker = ["kafka.bootstrap": "kafka.bootstrap-is-not-set.invalid:9092"]
            return try Configuration(
                keys: keys,
                fileValues: noBroker.merging(values) { $1 }.filter { known.contains($0.key) },
                environment: CurrentEnvironment.variables.filter { !names.contains($0.key) })
        } catch {
            throw UsageError("configuration: \(error)")
        }
    }

    var postgresURL: String { values["postgres.url"] ?? "" }
    /// Postgres' host and port; the URL may hold a password.
    var postgresPlace: String {
        let url = URL(string: postgresURL)
        return "\(url?.host ?? "?"):\(url?.port ?? 5432)"
    }
    var kafkaBootstrap: String { values["kafka.bootstrap"] ?? "" }
    var isEmbeddedBroker: Bool { values["kafka.embedded"] == "true" }
    var pool: String { values["kafka.pool"] ?? "main" }
    /// The encryption keys of secrets, from the same settings as in the services.
    var keys: KeyRing {
        let current = (values["encryption.keys"] ?? "").split(separator: ",").map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        return KeyRing(current + [values["auth.keySecret"] ?? ""])
    }
    /// The encryption keys as environment variables; only those that are set.
    var keyVariables: [(name: String, value: String)] {
        ["PARTITA_ENCRYPTION_KEYS", "PARTITA_AUTH_KEY_SECRET"].compactMap { name in
            guard let value = Self.variables[name].flatMap({ values[$0] }), !value.isEmpty else { return nil }
            return (name, value)
        }
    }
    /// The URL at which clients sign in.
    var authURL: String { values["auth.url"] ?? "http://127.0.0.1:8080" }

    func write(to file: String) throws {
        let lines = values.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)\n" }.joined()
        try DurableFile.write(Data(("# Written by `partita up`.\n" + lines).utf8), to: file)
    }

    /// The services' configuration as environment variables.
    var environment: [String: String] {
        var variables: [String: String] = [:]
        for (name, key) in Self.variables where name != "PARTITA_AUTH_URL" { variables[name] = values[key] }
        return variables
    }

    /// `--data`, of every command that works on a system.
    static let option = Command.Option(
        "data", value: "DIR", "the data directory of the system (default: as for `partita up`)")
}

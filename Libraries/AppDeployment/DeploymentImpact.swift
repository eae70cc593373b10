import AppDefinition
import DocumentModel
public import DocumentStore
import ServiceEngines
import SyncEngine

/// What a new version of an app would do to the documents that are stored, and to devices with an older version.
public struct DeploymentImpact: Sendable {
    /// Collections of which documents would leave the partitions in which devices have them.
    public var repartitions: [DocumentStore.Repartition] = []
    /// Collections of which documents would violate their new schema.
    public var schemas: [SchemaImpact] = []
    /// Clients with a Realm SDK that would begin anew.
    public var realmReset: RealmReset?

    /// A line for each collection, and one for clients with a Realm SDK.
    public var lines: [String] {
        repartitions.map(\.line) + schemas.flatMap(\.lines) + (realmReset.map { [$0.line] } ?? [])
    }

    /// What `requireAllowed` throws.
    func refusal(_ options: AppDeployments.Options) -> DeploymentError? {
        do {
            try requireAllowed(options)
            return nil
        } catch {
            return error
        }
    }

    /// - Throws: what the options don't allow.
    func requireAllowed(_ options: AppDeployments.Options) throws(DeploymentError) {
        if !repartitions.isEmpty, !options.mayRepartition {
            throw DeploymentError(
                .partitionsChange,
                "devices would lose documents that they have, and their unsent writes to them:\n  "
                    + repartitions.map(\.line).joined(separator: "\n  ")
                    + "\n--repartition deploys it anyway, and moves the documents into the partitions that the new key names"
            )
        }
        let breaking = schemas.filter(\.isBreaking)
        if !breaking.isEmpty, !options.mayBreakSchema {
            throw DeploymentError(
                .schemaBreaks,
                "the new schemas refuse documents that the present ones allow; changes of these are rejected until they are valid:\n  "
                    + breaking.flatMap(\.lines).joined(separator: "\n  ")
                    + "\nchange the documents first (`partita documents update`), make the new field optional, or deploy it anyway with --allow-breaking"
            )
        }
    }
}

extension DocumentStore.Repartition {
    /// A line for operators.
    var line: String {
        let isSame = newKey.map { $0.text.hasSameBytes(as: key) } ?? false
        let change =
            isSame
            ? "no null partition any more"
            : newKey.map { "by \($0.text) instead of \(key)" } ?? "not synced any more"
        let lost =
            newKey != nil && unplaced > 0
            ? "; \(unplaced) of them have no \(newKey?.text ?? "") and leave all devices" : ""
        let users = devices > 0 ? "; \(devices) devices have written to their partitions" : ""
        return "\(count) documents of \(namespace.database).\(namespace.collection): \(change)\(lost)\(users)"
    }
}

extension AppDeployments {
    /// Counts what a definition would change for stored documents.
    /// - Parameter former: the last version; `nil` for a new app.
    func impact(of definition: AppDefinition, after former: AppDefinition?) async throws -> DeploymentImpact {
        let storage = AppStorage(definition)
        let store = store(definition)
        return DeploymentImpact(
            repartitions: try await store.repartitions(by: storage),
            schemas: try await schemaImpacts(of: definition, after: former, in: store),
            realmReset: try await realmReset(of: definition, after: former))
    }
}

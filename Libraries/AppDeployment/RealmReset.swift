import AppDefinition
import DocumentModel
import Postgres
import RealmSync

/// Clients with a Realm SDK that have to begin anew, because the new version has a class or a property otherwise than the histories of their
/// partitions (`HistoryUpdate`).
public struct RealmReset: Sendable {
    /// The classes and properties, as in `ObjectSchema.contradictions`.
    public let differences: [String]
    /// The number of partitions.
    public let partitions: Int
    /// The number of clients that were seen in the last 30 days.
    public let clients: Int

    var line: String {
        "clients with a Realm SDK begin anew (client reset), \(clients) of the last 30 days in \(partitions) partitions, because these change: \(differences.joined(separator: ", "))"
    }
}

extension AppDeployments {
    /// - Parameter former: The last version; `nil` for a new app.
    func realmReset(of definition: AppDefinition, after former: AppDefinition?) async throws -> RealmReset? {
        let classes = definition.syncedClasses.schema
        guard let former, former.syncedClasses.schema != classes, try await hasTable("realm_partitions") else {
            return nil
        }
        let rows = try await client.query(
            """
            select p.schema, count(*)::int, sum(f.count)::int
            from partita.realm_partitions p cross join lateral (
                select count(*) from partita.realm_files f
                where f.app = p.app and f.partition = p.partition and f.seen_at > now() - interval '30 days') f
            where p.app = $1 group by p.schema
            """, [.text(definition.id)])
        var differences: Set<ExactText> = [], partitions = 0, clients = 0
        for row in rows {
            let (schema, partitionCount, clientCount) = try row.decode(([UInt8], Int, Int).self)
            let found = try ObjectSchema(made: Changeset(schema)).contradictions(of: classes)
            if found.isEmpty { continue }
            differences.formUnion(found.map { ExactText($0) })
            partitions += partitionCount
            clients += clientCount
        }
        if differences.isEmpty { return nil }
        return RealmReset(differences: differences.sorted().map(\.text), partitions: partitions, clients: clients)
    }
}

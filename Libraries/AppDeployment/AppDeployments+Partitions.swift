public import DocumentModel
public import DocumentStore
import Postgres
import SyncEngine

extension AppDeployments {
    /// The most grants, and the most devices, of ``partitionState(_:of:)``.
    public static let partitionRows = 1000

    /// What there is of a partition: its head, its documents, the users who may open it, and the devices that have uploaded to it, the
    /// last ones.
    ///
    /// - Parameter partition: in the form of key texts (`s:team-1`).
    /// - Returns: `partition`, `head` and `published` as `epoch.revision` or null, `collections`, `grants`, `devices`, and whether these
    ///   two have all rows (`isComplete`).
    /// - Throws: `DeploymentError` with code `appUnknown`.
    public func partitionState(_ partition: String, of app: String) async throws -> Document {
        try await prepare()
        try await deployedVersion(of: app)
        let key: [PostgresValue] = [.text(app), .text(partition)]
        var state: Document = ["partition": .string(partition)]
        let head = try await client.query(
            """
            select p.epoch || '.' || p.head, coalesce(d.epoch || '.' || d.revision, 'nothing')
            from partita.partitions p left join partita.published d using (app, partition)
            where app = $1 and partition = $2
            """, key
        ).decode((String, String).self).first
        state["head"] = head.map { .string($0.0) } ?? .null
        state["published"] = head.map { .string($0.1) } ?? .null
        state["collections"] = .array(try await collections(with: partition, app: app))
        let page = key + [.int(Int64(Self.partitionRows + 1))]
        let grants =
            try await hasTable("grants")
            ? try await client.query(
                """
                select user_id, access, epoch || '.' || version, left(coalesce(reason #>> '{}', ''), 2000)
                from partita.grants where app = $1 and partition = $2 order by user_id limit $3
                """, page
            ).decode((String, String, String, String).self) : []
        let devices = try await client.query(
            """
            select user_id, device, last_version, schema_version from (
                select * from partita.uploads where app = $1 and partition = $2 order by updated_at desc limit $3
            ) u order by updated_at
            """, page
        ).decode((String, String, Int64, Int64?).self)
        state["grants"] = .array(
            grants.prefix(Self.partitionRows).map { row in
                ["user": .string(row.0), "access": .string(row.1), "version": .string(row.2), "reason": .string(row.3)]
            })
        state["devices"] = .array(
            devices.suffix(Self.partitionRows).map { row in
                [
                    "user": .string(row.0), "device": .string(row.1), "lastVersion": .int64(row.2),
                    "schemaVersion": row.3.map { .int64($0) } ?? .null,
                ]
            })
        state["isComplete"] = .bool(max(grants.count, devices.count) <= Self.partitionRows)
        return state
    }

    private func collections(with partition: String, app: String) async throws -> [Value] {
        let collections = try await client.query(
            "select database, name, schema_name, table_name from partita.collections where app = $1 order by database, name",
            [.text(app)])
        var found: [Value] = []
        for (database, name, schema, table) in try collections.decode((String, String, String, String).self) {
            let rows = try await client.query(
                "select count(*) from \(schema.postgresIdentifier).\(table.postgresIdentifier) where partition = $1",
                [.text(partition)])
            let count = try rows.first?.decode(0, as: Int64.self) ?? 0
            if count > 0 { found.append(["collection": .string("\(database).\(name)"), "documents": .int64(count)]) }
        }
        return found
    }

    /// Makes every device download a partition, or all of an app, again from the beginning.
    ///
    /// - Parameters:
    ///   - partition: in the form of key texts; `nil` for all.
    ///   - recording: writes a record of the act, in its transaction.
    /// - Returns: how many partitions these are.
    /// - Throws: `DeploymentError` with code `appUnknown`.
    public func serveAnew(
        _ partition: String?, of app: String, recording: @escaping CommitHook = { _ in }
    ) async throws -> Int {
        try await prepare()
        let definition = try await deployed(app).definition
        return try await store(definition).serveAnew(
            app: definition.id, partition: partition.map { Partition(text: $0) }, beforeCommit: recording)
    }
}

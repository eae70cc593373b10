import DocumentModel
import Postgres

/// `partita partition show VALUE`.
enum PartitionShowCommand {
    static let command = Command(
        name: "partition show", summary: "Show a partition: head, documents, who may open it, who uploads to it",
        parameters: ["VALUE"],
        options: [.init("app", value: "ID", "the app (default: rchat)"), LocalConfiguration.option]
    ) { arguments in
        let app = arguments.value("app") ?? "rchat"
        let text = try arguments.required("VALUE")
        // A value that is no key text yet is a string, as most partition keys are.
        let partition = Value(keyText: text) == nil ? "s:" + text : text
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            try await show(partition, app: app, on: tool.postgres)
        }
    }

    private static func show(_ partition: String, app: String, on client: PostgresClient) async throws {
        let key: [PostgresValue] = [.text(app), .text(partition)]
        let heads = try await client.query(
            """
            select p.epoch || '.' || p.head, coalesce(d.epoch || '.' || d.revision, 'nothing')
            from partita.partitions p left join partita.published d using (app, partition) where app = $1 and partition = $2
            """, key)
        guard let (head, published) = try heads.decode((String, String).self).first else {
            return print("\(partition) has no documents and never had one")
        }
        print("\(partition)  head \(head)  published \(published)")
        let collections = try await client.query(
            "select database, name, schema_name, table_name from partita.collections where app = $1 order by database, name",
            [.text(app)])
        for (database, name, schema, table) in try collections.decode((String, String, String, String).self) {
            let rows = try await client.query(
                "select count(*) from \(schema.postgresIdentifier).\(table.postgresIdentifier) where partition = $1",
                [.text(partition)])
            let count = try rows.first?.decode(0, as: Int.self) ?? 0
            if count > 0 { print("  \(database).\(name)  \(count) documents") }
        }
        let grants = try await client.query(
            """
            select user_id, access, epoch || '.' || version, coalesce(reason #>> '{}', '')
            from partita.grants where app = $1 and partition = $2 order by user_id
            """, key)
        for (user, access, version, reason) in try grants.decode((String, String, String, String).self) {
            print("  grant  \(user)  \(access)  \(version)  \(reason)")
        }
        let devices = try await client.query(
            "select user_id, device, last_version from partita.uploads where app = $1 and partition = $2 order by updated_at",
            key)
        for (user, device, version) in try devices.decode((String, String, Int64).self) {
            print("  device \(device)  of \(user)  last version \(version)")
        }
    }
}

import AppDeployment
import DocumentModel
import Postgres

/// `partita partition show VALUE`.
enum PartitionShowCommand {
    static let command = Command(
        name: "partition show", summary: "Show a partition: head, documents, grants, devices that upload",
        parameters: ["VALUE"],
        options: [Command.appOption, Output.option, LocalConfiguration.option]
    ) { arguments in
        let text = try arguments.required("VALUE")
        let partition = Partition(given: text).text
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let state = try await state(of: partition, app: try await tool.app(arguments.app).id, on: tool.postgres)
            if arguments.has("json") {
                Output.line(ExtendedJSON.print(state, mode: .relaxed))
            } else {
                show(state)
            }
        }
    }

    private static func state(of partition: String, app: String, on client: PostgresClient) async throws -> Document {
        let key: [PostgresValue] = [.text(app), .text(partition)]
        var state: Document = ["partition": .string(partition)]
        let heads = try await client.query(
            """
            select p.epoch || '.' || p.head, coalesce(d.epoch || '.' || d.revision, 'nothing')
            from partita.partitions p left join partita.published d using (app, partition) where app = $1 and partition = $2
            """, key)
        let head = try heads.decode((String, String).self).first
        state["head"] = head.map { .string($0.0) } ?? .null
        state["published"] = head.map { .string($0.1) } ?? .null
        state["collections"] = .array(try await collections(with: partition, app: app, on: client))
        let grants = try await client.query(
            """
            select user_id, access, epoch || '.' || version, coalesce(reason #>> '{}', '')
            from partita.grants where app = $1 and partition = $2 order by user_id
            """, key)
        let granted = try grants.decode((String, String, String, String).self)
        state["grants"] = .array(
            granted.map { row in
                ["user": .string(row.0), "access": .string(row.1), "version": .string(row.2), "reason": .string(row.3)]
            })
        let devices = try await client.query(
            "select user_id, device, last_version from partita.uploads where app = $1 and partition = $2 order by updated_at",
            key)
        let uploaded = try devices.decode((String, String, Int64).self)
        state["devices"] = .array(
            uploaded.map { row in ["user": .string(row.0), "device": .string(row.1), "lastVersion": .int64(row.2)] })
        return state
    }

    private static func collections(with partition: String, app: String, on client: PostgresClient) async throws
        -> [Value]
    {
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

    private static func show(_ state: Document) {
        func text(_ value: Value?) -> String { value?.stringValue ?? value?.int64Value.map { "\($0)" } ?? "" }
        func each(_ name: String, _ line: (Value) -> String) {
            for item in state[name]?.arrayValue ?? [] { Output.line(line(item)) }
        }
        let partition = text(state["partition"])
        Output.line(
            state["head"] == .null
                ? "\(partition) has no documents and never had one"
                : "\(partition)  head \(text(state["head"]))  published \(text(state["published"]))")
        each("collections") { "  \(text($0["collection"]))  \(text($0["documents"])) documents" }
        each("grants") {
            "  grant  \(text($0["user"]))  \(text($0["access"]))  \(text($0["version"]))  \(text($0["reason"]))"
        }
        each("devices") {
            "  device \(text($0["device"]))  of \(text($0["user"]))  last version \(text($0["lastVersion"]))"
        }
    }
}

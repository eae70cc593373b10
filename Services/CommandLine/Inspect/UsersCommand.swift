import DocumentModel
import Postgres

/// `partita users`.
enum UsersCommand {
    static let command = Command(
        name: "users", summary: "Show an app's users",
        options: [Command.appOption, Output.option, LocalConfiguration.option]
    ) { arguments in
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let app = try await tool.app(arguments.app).id
            let rows = try await tool.postgres.query(
                """
                select u.id, to_char(to_timestamp(u.created_at / 1000.0) at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS'),
                    coalesce((
                        select string_agg(i.provider || ':' || i.subject, ', ') from partita.auth_identities i
                        where i.app = u.app and i.user_id = u.id), ''),
                    case when u.is_disabled then 'disabled' when u.is_pending then 'not confirmed' else '' end
                from partita.auth_users u where u.app = $1 order by u.created_at
                """, [.text(app)])
            for (id, created, identities, state) in try rows.decode((String, String, String, String).self) {
                Output.row(
                    [
                        "id": .string(id), "createdAt": .string(created),
                        "identities": .array(identities.split(separator: ", ").map { .string(String($0)) }),
                        "state": .string(state.isEmpty ? "active" : state),
                    ], isJSON: arguments.has("json"), "\(id)  \(created)  \(identities)  \(state)")
            }
        }
    }
}

import Postgres

/// `partita users`.
enum UsersCommand {
    static let command = Command(
        name: "users", summary: "Show an app's users",
        options: [.init("app", value: "ID", "the app (default: rchat)"), LocalConfiguration.option]
    ) { arguments in
        let app = arguments.value("app") ?? "rchat"
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
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
                print("\(id)  \(created)  \(identities)  \(state)")
            }
        }
    }
}

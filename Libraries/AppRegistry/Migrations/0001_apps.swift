import Postgres

extension AppRegistry {
    /// The tables of deployed apps.
    static let migrations = Migrations(
        owner: "app-registry",
        files: [
            (
                1, "apps",
                """
                CREATE TABLE partita.apps (
                    id text PRIMARY KEY,
                    name text NOT NULL,
                    -- Counts deployments and removals, so that it never goes back.
                    version bigint NOT NULL,
                    is_removed boolean NOT NULL DEFAULT false,
                    deployed_at timestamptz NOT NULL DEFAULT now()
                );
                CREATE TABLE partita.app_versions (
                    app text NOT NULL REFERENCES partita.apps (id) ON DELETE CASCADE,
                    version bigint NOT NULL,
                    -- json, not jsonb: sources of functions may hold \\u0000, and the text is only ever read whole.
                    definition json NOT NULL,
                    deployed_at timestamptz NOT NULL DEFAULT now(),
                    PRIMARY KEY (app, version)
                );
                CREATE TABLE partita.app_secrets (
                    app text NOT NULL,
                    name text NOT NULL,
                    value text NOT NULL,
                    PRIMARY KEY (app, name)
                );
                """
            ),
            (
                2, "secrets",
                """
                -- Counts the changes of the app's secrets, which aren't deployments.
                ALTER TABLE partita.apps ADD COLUMN secrets_version bigint NOT NULL DEFAULT 0;
                """
            ),
        ])
}

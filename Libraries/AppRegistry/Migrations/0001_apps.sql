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
    -- json, not jsonb: sources of functions may hold \u0000, and the text is only ever read whole.
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

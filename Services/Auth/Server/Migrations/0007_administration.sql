-- The tokens of the administration API. Only a digest of the secret part is stored.
CREATE TABLE partita.auth_admin_tokens (
    id text PRIMARY KEY,
    -- What the operator calls it; several may have the same name.
    name text NOT NULL,
    secret_hash bytea NOT NULL,
    -- Names of roles, separated by commas.
    roles text NOT NULL,
    -- The only app that it is for; NULL: all apps.
    app text,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint
);
-- The audit log, which is the outbox of its topic, too.
CREATE TABLE partita.auth_audit (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    "time" bigint NOT NULL,
    token text NOT NULL,
    token_name text NOT NULL,
    role text NOT NULL,
    -- '*': no app, or all of them.
    app text NOT NULL,
    action text NOT NULL,
    target text,
    outcome text NOT NULL,
    address text NOT NULL,
    is_published boolean NOT NULL DEFAULT false
);
CREATE INDEX auth_audit_waiting ON partita.auth_audit (number) WHERE NOT is_published;
CREATE INDEX auth_audit_app ON partita.auth_audit (app, number);
CREATE INDEX auth_audit_time ON partita.auth_audit ("time");

CREATE TABLE partita.auth_users (
    app text NOT NULL,
    id text NOT NULL,
    type text NOT NULL DEFAULT 'normal',
    -- The profile from the user's identities, canonical Extended JSON.
    data json NOT NULL DEFAULT '{}',
    is_pending boolean NOT NULL DEFAULT false,
    is_disabled boolean NOT NULL DEFAULT false,
    created_at bigint NOT NULL,
    last_sign_in bigint,
    PRIMARY KEY (app, id)
);
CREATE TABLE partita.auth_identities (
    app text NOT NULL,
    provider text NOT NULL,
    -- What the provider knows the user by: the e-mail address, an API key's id, a function's answer.
    subject text NOT NULL,
    id text NOT NULL,
    user_id text NOT NULL,
    password_hash text,
    created_at bigint NOT NULL,
    PRIMARY KEY (app, provider, subject),
    FOREIGN KEY (app, user_id) REFERENCES partita.auth_users (app, id) ON DELETE CASCADE
);
CREATE INDEX auth_identities_user ON partita.auth_identities (app, user_id);
CREATE TABLE partita.auth_email_tokens (
    app text NOT NULL,
    id text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('confirm', 'reset')),
    subject text NOT NULL,
    secret_hash bytea NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (app, id)
);
CREATE INDEX auth_email_tokens_subject ON partita.auth_email_tokens (app, subject);
CREATE TABLE partita.auth_sessions (
    id text PRIMARY KEY,
    app text NOT NULL,
    user_id text NOT NULL,
    device text NOT NULL,
    provider text NOT NULL,
    -- The refresh token that was shown last, and the one before it.
    token_id text NOT NULL,
    previous_token_id text,
    advanced_at bigint NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    revoked_at bigint,
    FOREIGN KEY (app, user_id) REFERENCES partita.auth_users (app, id) ON DELETE CASCADE
);
CREATE INDEX auth_sessions_user ON partita.auth_sessions (app, user_id);
CREATE INDEX auth_sessions_expiry ON partita.auth_sessions (expires_at);
CREATE TABLE partita.auth_api_keys (
    app text NOT NULL,
    id text NOT NULL,
    user_id text NOT NULL,
    name text NOT NULL,
    key_hash bytea NOT NULL UNIQUE,
    is_disabled boolean NOT NULL DEFAULT false,
    created_at bigint NOT NULL,
    PRIMARY KEY (app, id),
    UNIQUE (app, user_id, name),
    FOREIGN KEY (app, user_id) REFERENCES partita.auth_users (app, id) ON DELETE CASCADE
);
CREATE TABLE partita.auth_signing_keys (
    id text PRIMARY KEY,
    private_key text NOT NULL,
    created_at bigint NOT NULL,
    signs_from bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE partita.auth_outbox (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL,
    app text NOT NULL,
    kind text NOT NULL,
    user_id text NOT NULL,
    event json NOT NULL,
    created_at bigint NOT NULL,
    published_at bigint
);
CREATE INDEX auth_outbox_waiting ON partita.auth_outbox (number) WHERE published_at IS NULL;
CREATE INDEX auth_outbox_published ON partita.auth_outbox (published_at) WHERE published_at IS NOT NULL;
CREATE TABLE partita.auth_relay_lease (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    owner text NOT NULL,
    until timestamptz NOT NULL
);
INSERT INTO partita.auth_relay_lease (owner, until) VALUES ('', '-infinity');

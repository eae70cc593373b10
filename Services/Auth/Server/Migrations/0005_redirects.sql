-- Sign-ins by redirects that have begun, until they end or expire.
CREATE TABLE partita.auth_redirects (
    -- Digests of the state and of the browser's cookie, which are secrets.
    state_hash bytea PRIMARY KEY,
    browser_hash bytea NOT NULL,
    app text NOT NULL,
    provider text NOT NULL,
    nonce text NOT NULL,
    verifier text NOT NULL,
    callback text NOT NULL,
    redirect text NOT NULL,
    client_state text NOT NULL,
    device json NOT NULL,
    expires_at bigint NOT NULL
);
CREATE INDEX auth_redirects_expiry ON partita.auth_redirects (expires_at);

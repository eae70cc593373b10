-- The tokens by which the push services reach devices. The table is its own outbox: a row whose version isn't published is due.
CREATE TABLE partita.auth_push_registrations (
    app text NOT NULL,
    user_id text NOT NULL,
    device text NOT NULL,
    -- The push service, by the name that the client uses.
    provider text NOT NULL,
    -- NULL: deregistered; the row goes when that is published.
    token text,
    changed_at bigint NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    published_version bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (app, user_id, device, provider)
);
CREATE INDEX auth_push_registrations_waiting ON partita.auth_push_registrations (changed_at)
    WHERE version <> published_version;

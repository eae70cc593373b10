ALTER TABLE partita.auth_sessions
    ADD COLUMN api_key_id text,
    -- When its newest access token expires. NULL: of before this was kept.
    ADD COLUMN access_expires_at bigint,
    ADD COLUMN ended_by text,
    ADD COLUMN platform text NOT NULL DEFAULT '',
    ADD COLUMN agent text NOT NULL DEFAULT '',
    ADD COLUMN address text NOT NULL DEFAULT '',
    ADD COLUMN seen_at bigint;

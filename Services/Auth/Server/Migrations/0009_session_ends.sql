-- By when a session is deleted: its last token has expired then.
DROP INDEX partita.auth_sessions_expiry;
CREATE INDEX auth_sessions_expiry ON partita.auth_sessions (greatest(expires_at, access_expires_at));

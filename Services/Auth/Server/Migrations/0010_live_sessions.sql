-- Which of a user's sessions end when there are too many, and which there are when all have to end.
CREATE INDEX auth_sessions_live ON partita.auth_sessions (app, user_id, (coalesce(seen_at, created_at))) WHERE revoked_at IS NULL;

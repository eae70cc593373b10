-- Where accounts are found that nobody uses any more.
CREATE INDEX auth_identities_anonymous ON partita.auth_identities (created_at, app, subject) WHERE provider = 'anon-user';
CREATE INDEX auth_users_pending ON partita.auth_users (created_at) WHERE is_pending;

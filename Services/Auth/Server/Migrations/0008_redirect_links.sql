-- The user who gets the identity, and the session in which that was begun; null for a sign-in.
ALTER TABLE partita.auth_redirects ADD COLUMN link_user text, ADD COLUMN link_session text;

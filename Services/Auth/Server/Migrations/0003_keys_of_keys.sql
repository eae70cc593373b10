-- The API key with which the session began that made a key; NULL when it began otherwise. No reference: what a key made ends with it.
ALTER TABLE partita.auth_api_keys ADD COLUMN made_by text;

-- Counts the changes of the app's secrets, which aren't deployments.
ALTER TABLE partita.apps ADD COLUMN secrets_version bigint NOT NULL DEFAULT 0;

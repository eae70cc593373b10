-- How a version came about, and what it takes here.
ALTER TABLE partita.app_versions
    ADD COLUMN message text,
    ADD COLUMN deployed_by text,
    -- The version whose files it has again.
    ADD COLUMN restores bigint,
    -- SHA-256 of all that was deployed; null for versions from before this file.
    ADD COLUMN digest text,
    -- The bytes of the definition's files.
    ADD COLUMN bytes bigint NOT NULL DEFAULT 0,
    -- The files that no service reads: path and digest.
    ADD COLUMN other_files json NOT NULL DEFAULT '{}';
UPDATE partita.app_versions SET bytes = octet_length(definition::text);
-- Their contents, once for each app.
CREATE TABLE partita.app_files (
    app text NOT NULL REFERENCES partita.apps (id) ON DELETE CASCADE,
    digest text NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (app, digest)
);
ALTER TABLE partita.apps
    -- Whether the version is current and its documents aren't all in their partitions yet.
    ADD COLUMN is_placing boolean NOT NULL DEFAULT false,
    -- Counts the changes of paused_triggers.
    ADD COLUMN pauses_version bigint NOT NULL DEFAULT 0;
CREATE TABLE partita.paused_triggers (
    app text NOT NULL,
    trigger text NOT NULL,
    -- Whether what was missed is being processed, after which the row goes.
    is_resuming boolean NOT NULL DEFAULT false,
    paused_at timestamptz NOT NULL DEFAULT now(),
    paused_by text NOT NULL,
    PRIMARY KEY (app, trigger)
);
-- The version of each app that each process of a service works with, and a row without an app ('') for each process.
CREATE TABLE partita.app_instances (
    app text NOT NULL,
    -- The name under which the process is connected (`application_name`), so that one that died is told from one that is slow.
    instance text NOT NULL,
    version bigint NOT NULL,
    loaded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, instance)
);

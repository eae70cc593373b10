-- The packages of apps' functions. A version whose packages are those of an earlier one refers to that one's.
CREATE TABLE partita.app_packages (
    app text NOT NULL REFERENCES partita.apps (id) ON DELETE CASCADE,
    version bigint NOT NULL,
    -- json, as for definitions.
    content json NOT NULL,
    PRIMARY KEY (app, version)
);
-- The version under which the packages are stored; null: it has none.
ALTER TABLE partita.app_versions ADD COLUMN packages bigint;

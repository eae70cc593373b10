-- By trigger, since when versions without a break have had it, in milliseconds since 1970. Those that aren't in it are older than this file.
ALTER TABLE partita.app_versions ADD COLUMN trigger_beginnings json NOT NULL DEFAULT '{}';

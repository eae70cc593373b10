-- The SHA-256 digest of the thumbnail that was made of the bytes; null: none was made, or by an earlier version.
alter table partita.media_references add column thumbnail text collate "C";

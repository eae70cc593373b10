-- Whether the newest flip waits for the user's document; when the user was last seen, in milliseconds since 1970, for the time when it comes.
alter table partita.presence_written add column is_unwritten boolean not null default false, add column last_seen bigint;

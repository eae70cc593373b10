-- The version of the app that a history was brought up to last, and the collections that it synced then, as a JSON array in the order of their bytes: a
-- gateway that has an older version mustn't add to the history, and what was synced in between isn't in it.
alter table partita.realm_partitions
    add column app_version bigint not null default 0,
    add column collections text not null default '[]';

-- How fast a user makes client files is seen by when the former ones were made.
alter table partita.realm_files add column made_at timestamptz not null default now();

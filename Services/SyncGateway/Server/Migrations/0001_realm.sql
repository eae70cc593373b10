-- What clients with the Realm SDKs have of partitions. Each partition has one history of changesets, in which the changes of documents by
-- others are, too.
create table partita.realm_partitions (
    app text collate "C" not null,
    partition text collate "C" not null,
    -- The newest version of the history; 0 of an empty one.
    version bigint not null,
    -- The version after which all entries are there: what there was before has been trimmed, or has nothing to do with them.
    base bigint not null default 0,
    -- The number of the next client file; 1 is the server.
    next_file bigint not null default 2,
    -- The revision up to which changes of documents are in the history.
    epoch int not null,
    revision bigint not null,
    -- The changeset that makes the history's classes.
    schema bytea not null,
    primary key (app, partition)
) with (fillfactor = 50);

create table partita.realm_history (
    app text collate "C" not null,
    partition text collate "C" not null,
    version bigint not null,
    -- With it a client shows which history it has.
    salt bigint not null,
    file bigint not null,
    client_version bigint not null,
    -- Milliseconds since 2015.
    origin_time bigint not null,
    -- The only client file that gets the entry; null for all.
    audience bigint,
    -- The changeset as it is applied at this place; empty when nothing is left of it.
    bytes bytea not null,
    primary key (app, partition, version)
);

create table partita.realm_files (
    app text collate "C" not null,
    partition text collate "C" not null,
    file bigint not null,
    salt bigint not null,
    user_id text collate "C" not null,
    -- The newest version of the client in the history, and the version of the history that it is based on.
    client_version bigint not null default 0,
    upload_base bigint not null default 0,
    -- The version up to which the client has the history.
    base bigint not null default 0,
    -- The version of the snapshot with which the client begins; 0 if it begins with the first entry, null if it hasn't begun.
    snapshot bigint,
    seen_at timestamptz not null default now(),
    primary key (app, partition, file)
) with (fillfactor = 70);

-- States of a history, with which new clients begin instead of with all that led to them.
create table partita.realm_snapshots (
    app text collate "C" not null,
    partition text collate "C" not null,
    -- The version whose state it is.
    version bigint not null,
    -- How many changesets it is. For those who begin with it, they have the versions up to its own.
    parts bigint not null,
    bytes bigint not null,
    -- When the newest change in it was made, in milliseconds since 2015: by it clients merge with what they have done themselves.
    origin_time bigint not null,
    primary key (app, partition, version)
);

create table partita.realm_snapshot_parts (
    app text collate "C" not null,
    partition text collate "C" not null,
    snapshot bigint not null,
    -- Its place, from 1.
    part bigint not null,
    salt bigint not null,
    bytes bytea not null,
    primary key (app, partition, snapshot, part)
);

-- Entries of the history in the form that a client has them, where it differs.
create table partita.realm_reciprocals (
    app text collate "C" not null,
    partition text collate "C" not null,
    file bigint not null,
    version bigint not null,
    bytes bytea not null,
    primary key (app, partition, file, version)
);

-- The objects as a client has them that has the whole history.
create table partita.realm_objects (
    app text collate "C" not null,
    partition text collate "C" not null,
    class text collate "C" not null,
    -- The primary key, as `_id` is written in documents' tables.
    id text collate "C" not null,
    body text not null,
    primary key (app, partition, class, id)
) with (fillfactor = 70);

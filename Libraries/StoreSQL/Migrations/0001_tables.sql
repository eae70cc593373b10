create schema if not exists partita;

-- Counts restores of the database. The newest row is the present epoch.
create table partita.epochs (
    epoch int primary key,
    system_identifier text not null,
    timeline text not null,
    reason text not null,
    started_at timestamptz not null default now()
);

-- Where a partition's numbers ended when a later epoch began.
create table partita.epoch_ends (
    app text collate "C" not null,
    partition text collate "C" not null,
    epoch int not null,
    head bigint not null,
    primary key (app, partition, epoch)
);

-- The head of each partition. Its row lock, held to the commit, makes revision order, commit order and visibility the same.
create table partita.partitions (
    app text collate "C" not null,
    partition text collate "C" not null,
    epoch int not null,
    head bigint not null,
    -- Checkpoints of epochs before it count as unknown: the partition is served anew.
    anew int not null default 0,
    primary key (app, partition)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- Up to where the relay has published a partition: apart from the head, so that publishing never waits for a commit.
create table partita.published (
    app text collate "C" not null,
    partition text collate "C" not null,
    epoch int not null,
    revision bigint not null,
    primary key (app, partition)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create table partita.relay_leases (
    shard int primary key,
    holder text not null,
    fence bigint not null,
    expires_at timestamptz not null
);

-- The relays that are alive, so that they share the shards.
create table partita.relay_members (
    holder text primary key,
    expires_at timestamptz not null
);

-- Outbox and history in one. A day's rows are one table, so that retention is dropping it.
create table partita.changes (
    app text collate "C" not null,
    partition text collate "C" not null,
    epoch int not null,
    revision bigint not null,
    database text not null,
    collection text not null,
    _id text collate "C" not null,
    operation text not null,
    incarnation_epoch int not null,
    incarnation bigint not null,
    before json,
    after json,
    moved_partition text collate "C",
    moved_epoch int,
    moved_revision bigint,
    origin_user text,
    origin_device text,
    origin_version bigint,
    wall_time timestamptz not null default now(),
    primary key (app, partition, epoch, revision, wall_time)
) partition by range (wall_time);
create index changes_wall_time on partita.changes using brin (wall_time) with (pages_per_range = 16);

-- What catch-up tells about deleted documents and about those that left the partition.
create table partita.tombstones (
    app text collate "C" not null,
    partition text collate "C" not null,
    database text collate "C" not null,
    collection text collate "C" not null,
    _id text collate "C" not null,
    epoch int not null,
    revision bigint not null,
    incarnation_epoch int not null,
    incarnation bigint not null,
    deleted_at timestamptz not null default now(),
    primary key (app, partition, database, collection, _id)
);
create index tombstones_by_revision on partita.tombstones (app, partition, epoch, revision);

-- Up to which revision tombstones were dropped: a checkpoint before it needs the comparison of ids.
create table partita.tombstone_horizons (
    app text collate "C" not null,
    partition text collate "C" not null,
    epoch int not null,
    revision bigint not null,
    primary key (app, partition)
);

-- How far each device's uploads have come. `recent` holds the last ones, 20 bytes each, newest last:
-- digest (8), epoch (4) and revision (8) of the changeset.
create table partita.uploads (
    app text collate "C" not null,
    user_id text collate "C" not null,
    device text collate "C" not null,
    partition text collate "C" not null,
    last_version bigint not null,
    recent bytea not null,
    -- Another one has used its versions: nothing new counts (SyncEngine: UploadCounter).
    is_closed boolean not null default false,
    updated_at timestamptz not null default now(),
    primary key (app, device, partition, user_id)
) with (fillfactor = 70);

-- What is to be said again about a changeset when it is sent again: the writes that lost, or why it was rejected.
create table partita.upload_outcomes (
    app text collate "C" not null,
    user_id text collate "C" not null,
    device text collate "C" not null,
    partition text collate "C" not null,
    version bigint not null,
    outcome json not null,
    created_at timestamptz not null default now(),
    primary key (app, device, partition, user_id, version)
);

-- The permission service's answers. Its rows belong to `permissions`, which writes them under the partition's lock; it is
-- created here because an upload is checked against it inside the commit. A user_id of '*' is every user.
create table partita.grants (
    app text collate "C" not null,
    partition text collate "C" not null,
    user_id text collate "C" not null,
    access text not null check (access in ('none', 'read', 'write')),
    epoch int not null,
    version bigint not null,
    reason json,
    decided_at timestamptz not null default now(),
    expires_at timestamptz,
    primary key (app, partition, user_id)
);
-- Which partitions a user may read: for whose presence a user may watch, and for all answers about a user who is shut out.
create index grants_by_user on partita.grants (app, user_id, partition);

-- Which table holds which collection. `partition_key` is the app's. A dump names the table, whose number would be that of another one,
-- or of none, in the database that it is restored to.
create table partita.collections (
    app text collate "C" not null,
    database text collate "C" not null,
    name text collate "C" not null,
    schema_name text not null,
    table_name text not null,
    partition_key text,
    relation regclass not null unique,
    created_at timestamptz not null default now(),
    primary key (app, database, name)
);

-- What other hands than the library have changed in the running transactions; empty between them.
create unlogged table partita.pending (
    xid xid8 not null default pg_current_xact_id(),
    relation oid not null,
    _id text collate "C" not null,
    ordinal bigint generated always as identity,
    before json,
    before_partition text collate "C",
    before_epoch int,
    before_revision bigint,
    before_incarnation_epoch int,
    before_incarnation bigint,
    after json,
    after_partition text collate "C",
    left_epoch int,
    left_revision bigint,
    epoch int,
    revision bigint,
    primary key (xid, relation, _id)
);

create unlogged table partita.pending_commits (
    xid xid8 primary key default pg_current_xact_id()
);

-- The declared indexes. `specification` is MongoDB's; `relation` names the Postgres index in the table's schema, and
-- `elements` its companion for arrays. One that isn't ready is being built, or its builder died.
create table partita.indexes (
    app text collate "C" not null,
    database text collate "C" not null,
    collection text collate "C" not null,
    name text collate "C" not null,
    specification json not null,
    relation text not null,
    elements text,
    is_ready boolean not null default false,
    created_at timestamptz not null default now(),
    primary key (app, database, collection, name),
    foreign key (app, database, collection) references partita.collections (app, database, name) on delete cascade
);

-- Who does work of which there is one at a time; a holder that is late is recognised by its fence.
create table partita.work_leases (
    name text collate "C" primary key,
    holder text not null,
    fence bigint not null,
    expires_at timestamptz not null
);

-- What the documents of collections must look like: `schema.json` of the deployed app, for other hands than the library's.
create table partita.schemas (
    app text collate "C" not null,
    database text collate "C" not null,
    collection text collate "C" not null,
    schema json not null,
    primary key (app, database, collection)
);

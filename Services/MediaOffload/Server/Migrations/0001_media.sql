-- Bytes by content address. `object` is their key in the store, new with every row: what is removed under one key can't hit
-- the same bytes when they come again.
create table partita.media_objects (
    app text collate "C" not null,
    digest text collate "C" not null,
    object text collate "C" not null unique,
    size bigint not null,
    content_type text not null,
    is_stored boolean not null default false,
    created_at timestamptz not null default now(),
    primary key (app, digest)
);

-- Which documents refer to them. `reserved`: the bytes are on their way to the store; `linked`: the document has the link;
-- `announced`: and `media-events` says so.
create table partita.media_references (
    app text collate "C" not null,
    database text collate "C" not null,
    collection text collate "C" not null,
    _id text collate "C" not null,
    path text collate "C" not null,
    digest text collate "C" not null,
    partition text collate "C" not null,
    revision text not null,
    state text not null check (state in ('reserved', 'linked', 'announced')),
    primary key (app, database, collection, _id, path, digest)
);
create index media_references_by_digest on partita.media_references (app, digest);

-- Objects that nothing refers to any more, until they are removed from the store and `media-events` says so.
create table partita.media_garbage (
    object text collate "C" primary key,
    app text collate "C" not null,
    database text collate "C" not null,
    collection text collate "C" not null,
    _id text collate "C" not null,
    path text collate "C" not null,
    digest text collate "C" not null,
    partition text collate "C" not null,
    revision text not null
);
create index media_garbage_by_place on partita.media_garbage (app, database, collection, _id, path);

-- Jobs that aren't done, so that a broker that forgets them delays them only.
create table partita.media_jobs (
    app text collate "C" not null,
    database text collate "C" not null,
    collection text collate "C" not null,
    _id text collate "C" not null,
    path text collate "C" not null,
    kind text not null,
    job_id text collate "C" not null unique,
    job text not null,
    created_at timestamptz not null default now(),
    resend_at timestamptz not null default now() + interval '1 minute',
    primary key (app, database, collection, _id, path, kind)
);
create index media_jobs_by_resend on partita.media_jobs (resend_at);

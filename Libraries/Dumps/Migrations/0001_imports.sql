create schema if not exists partita;

-- How far the import of each file has come; see ImportRecord.
create table partita.imports (
    app text collate "C" not null,
    database text collate "C" not null,
    collection text collate "C" not null,
    digest text collate "C" not null,
    path text not null,
    phase text not null check (phase in ('drop', 'documents', 'indexes', 'done')),
    bytes bigint not null default 0,
    inserted bigint not null default 0,
    rejected bigint not null default 0,
    rejections_size bigint not null default 0,
    started_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (app, database, collection, digest)
);

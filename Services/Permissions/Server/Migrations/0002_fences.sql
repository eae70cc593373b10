-- Revocations without a receipt; written with the grant.
create table partita.fences (
    app text collate "C" not null,
    partition text collate "C" not null,
    user_id text collate "C" not null,
    epoch integer not null,
    version bigint not null,
    -- When the broker had the grant, and the gateways that could have served the pair then; null before.
    published_at timestamptz,
    gateways text[],
    answered text[] not null default '{}',
    primary key (app, partition, user_id, epoch, version)
);

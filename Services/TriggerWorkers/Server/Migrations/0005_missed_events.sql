-- Events that paused triggers have missed, in their order.
create table partita.trigger_missed_events (
    place bigint generated always as identity,
    app text collate "C" not null,
    trigger text collate "C" not null,
    event_id text collate "C" not null,
    -- The change, which is read again from partita.changes; null for an event of an account.
    partition text collate "C",
    epoch int,
    revision bigint,
    -- The function's argument, for an event of an account.
    argument text,
    -- When it happened, in milliseconds since 1970.
    time bigint not null,
    missed_at timestamptz not null default now(),
    primary key (app, trigger, place),
    unique (app, trigger, event_id)
);

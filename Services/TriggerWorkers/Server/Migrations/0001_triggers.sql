-- What the document calls of a run gave, so that a run that begins anew is answered from here as far as it had come.
create table partita.trigger_journal (
    app text collate "C" not null,
    trigger text collate "C" not null,
    event text collate "C" not null,
    ordinal bigint not null,
    digest text not null,
    result text not null,
    primary key (app, trigger, event, ordinal)
);

-- Events that were put aside; `replayed_at` is set when the tool offers one again.
create table partita.trigger_failures (
    id bigint generated always as identity primary key,
    app text collate "C" not null,
    trigger text collate "C" not null,
    event_id text collate "C" not null,
    event text not null,
    code text not null,
    message text not null,
    function text,
    line int,
    attempts int not null,
    failed_at timestamptz not null default now(),
    replayed_at timestamptz
);
create index trigger_failures_of_trigger on partita.trigger_failures (app, trigger, failed_at);

-- The last moment of each schedule that a worker has taken.
create table partita.trigger_schedules (
    app text collate "C" not null,
    trigger text collate "C" not null,
    taken timestamptz not null,
    primary key (app, trigger)
);

-- The newest flip of each user that is in the presence field.
create table partita.presence_written (
    app text collate "C" not null,
    user_id text collate "C" not null,
    version bigint not null,
    primary key (app, user_id)
);

-- What functions wrote to their console, and how runs failed.
create table partita.function_logs (
    at timestamptz not null default now(),
    app text collate "C" not null,
    function text not null,
    trigger text,
    level text not null,
    message text not null,
    line int
);
create index function_logs_by_time on partita.function_logs (app, at desc);

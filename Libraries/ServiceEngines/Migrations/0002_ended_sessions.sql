create table partita.ended_sessions (
    app text collate "C" not null,
    id text collate "C" not null,
    -- When its last access token expires, milliseconds since 1970.
    until bigint not null,
    ended_at timestamptz not null default clock_timestamp(),
    primary key (app, id)
);
create index ended_sessions_by_time on partita.ended_sessions (ended_at);
create index ended_sessions_by_end on partita.ended_sessions (until);

-- Moments of schedules that were taken and aren't done. A worker that runs one renews its claim.
create table partita.trigger_moments (
    app text collate "C" not null,
    trigger text collate "C" not null,
    moment bigint not null,
    claimed_until timestamptz not null,
    primary key (app, trigger, moment)
);

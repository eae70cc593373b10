create table partita.gateways (
    gateway text collate "C" primary key,
    seen_at timestamptz not null default clock_timestamp()
);

-- All leases are in one table: `place` tells those of one name apart, which processes share among each other.
alter table partita.work_leases add column place int not null default 0;
alter table partita.work_leases drop constraint work_leases_pkey;
alter table partita.work_leases add primary key (name, place);

-- The processes that ask for leases of a name, so that each takes its share.
create table partita.work_members (
    name text collate "C" not null,
    holder text not null,
    expires_at timestamptz not null,
    primary key (name, holder)
);

drop table partita.relay_leases;
drop table partita.relay_members;

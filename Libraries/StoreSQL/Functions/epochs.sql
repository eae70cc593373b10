-- Returns the number of an epoch after this one. It must be unused on every server that ever had this database: two restores of one
-- backup, or two standbys that take over, mustn't begin the same one. It is the number of seconds since 2020; two failovers within one
-- second are told apart by the times at which their epochs began (`epoch_after`).
create or replace function partita.next_epoch(present int) returns int language sql volatile as $$
    select greatest(present + 1, (extract(epoch from clock_timestamp()) - 1577836800)::int);
$$;

-- Returns the current epoch. If Postgres' system identifier or timeline differs from the newest row's, this database was restored,
-- or another server took over, and an epoch begins.
create or replace function partita.current_epoch() returns int language plpgsql as $$
declare
    latest partita.epochs;
    identifier text := (select system_identifier::text from pg_control_system());
    line text := left(pg_walfile_name(pg_current_wal_lsn()), 8);
begin
    select * into latest from partita.epochs order by epoch desc limit 1;
    if latest.system_identifier = identifier and latest.timeline = line then
        return latest.epoch;
    end if;
    -- One caller begins it.
    perform pg_advisory_xact_lock(hashtext('partita.epochs'));
    select * into latest from partita.epochs order by epoch desc limit 1;
    if latest.system_identifier = identifier and latest.timeline = line then
        return latest.epoch;
    end if;
    insert into partita.epochs (epoch, system_identifier, timeline, reason)
    values (
        case when latest.epoch is null then 1 else partita.next_epoch(latest.epoch) end, identifier, line,
        case when latest.epoch is null then 'first'
            when latest.system_identifier <> identifier then 'system identifier changed' else 'timeline changed' end)
    returning * into latest;
    return latest.epoch;
end $$;

-- Begins an epoch unless one after `known` has begun: so several callers that know the same one begin one. Returns the current epoch.
create or replace function partita.begin_epoch_after(known int, reason text) returns int language plpgsql as $$
declare
    present int;
begin
    perform pg_advisory_xact_lock(hashtext('partita.epochs'));
    present := partita.current_epoch();
    if present > known then
        return present;
    end if;
    insert into partita.epochs (epoch, system_identifier, timeline, reason)
    select partita.next_epoch(known), system_identifier, timeline, begin_epoch_after.reason
    from partita.epochs where epoch = present;
    return partita.current_epoch();
end $$;

-- Begins an epoch explicitly, after a restore that doesn't change Postgres' system identifier or timeline.
create or replace function partita.begin_epoch(reason text) returns int language sql as $$
    select partita.begin_epoch_after(partita.current_epoch(), reason);
$$;

-- Returns the current epoch, when it began (in microseconds since 1970), and the position in the write-ahead log, for a process that saw
-- these before. If the epoch is an earlier one, or another one with the same number, or the log is behind the position, another server or
-- a snapshot has taken the place of the one that the process knows, and an epoch begins. `is_loss` says whether commits may be gone that
-- the process has seen. The parameters are null for a process that has seen nothing.
create or replace function partita.epoch_after(
    known_epoch int, known_start bigint, known_position bigint,
    out epoch int, out start bigint, out log_position bigint, out is_loss boolean
) language plpgsql as $$
begin
    epoch := partita.current_epoch();
    -- Up to here the log survives a crash.
    log_position := (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint;
    start := (select (extract(epoch from e.started_at) * 1000000)::bigint from partita.epochs e where e.epoch = epoch_after.epoch);
    if epoch < known_epoch or epoch = known_epoch and (start <> known_start or log_position < known_position) then
        epoch := partita.begin_epoch_after(known_epoch, case
            when epoch = known_epoch and start <> known_start then 'another server has begun the same epoch'
            else 'the write-ahead log went back' end);
        start := (select (extract(epoch from e.started_at) * 1000000)::bigint from partita.epochs e where e.epoch = epoch_after.epoch);
    end if;
    is_loss := exists (
        select from partita.epochs e
        where e.epoch > known_epoch and e.epoch <= epoch_after.epoch and e.reason <> 'served again from the start');
end $$;

-- Begins an epoch from which a partition of the app, or each of its partitions, is served again from the start. Returns their
-- number.
create or replace function partita.serve_anew(app_id text, partition_id text) returns bigint language plpgsql as $$
declare
    present int := partita.begin_epoch('served again from the start');
    served bigint;
begin
    -- Locked one after the other in the order of their names, as in every commit.
    perform from partita.partitions
        where app = app_id and (partition_id is null or partition = partition_id) order by partition for update;
    update partita.partitions set anew = present
        where app = app_id and (partition_id is null or partition = partition_id);
    get diagnostics served = row_count;
    return served;
end $$;

create or replace function partita.note_epoch_end() returns trigger language plpgsql as $$
begin
    insert into partita.epoch_ends values (old.app, old.partition, old.epoch, old.head) on conflict do nothing;
    return null;
end $$;

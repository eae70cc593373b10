-- Returns the current epoch. If Postgres' system identifier or timeline differs from the newest row's, this database was restored,
-- or another server took over, and an epoch begins.
create or replace function partita.current_epoch() returns int language plpgsql as $$
declare
    latest partita.epochs;
    identifier text := (select system_identifier::text from pg_control_system());
    line text := left(pg_walfile_name(pg_current_wal_lsn()), 8);
begin
    loop
        select * into latest from partita.epochs order by epoch desc limit 1;
        if latest.system_identifier = identifier and latest.timeline = line then
            return latest.epoch;
        end if;
        insert into partita.epochs (epoch, system_identifier, timeline, reason)
        values (
            coalesce(latest.epoch, 0) + 1, identifier, line,
            case when latest.epoch is null then 'first'
                when latest.system_identifier <> identifier then 'system identifier changed' else 'timeline changed' end)
        on conflict do nothing;
    end loop;
end $$;

-- Begins an epoch explicitly, after a restore that doesn't change Postgres' system identifier or timeline.
create or replace function partita.begin_epoch(reason text) returns int language plpgsql as $$
declare
    present int := partita.current_epoch();
begin
    insert into partita.epochs (epoch, system_identifier, timeline, reason)
    select epoch + 1, system_identifier, timeline, begin_epoch.reason from partita.epochs where epoch = present
    on conflict do nothing;
    return partita.current_epoch();
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

-- Creates the tables for the changes of the days from yesterday on. They are created and then attached, which doesn't block reads
-- and writes; PARTITION OF would lock the parent table.
create or replace function partita.ensure_change_tables(days int) returns void language plpgsql as $$
declare
    day date;
    table_id text;
begin
    for day in select d::date from generate_series(
        date_trunc('day', now() at time zone 'UTC') - interval '1 day',
        date_trunc('day', now() at time zone 'UTC') + make_interval(days => days), interval '1 day') d
    loop
        table_id := 'changes_' || to_char(day, 'YYYYMMDD');
        continue when to_regclass(format('partita.%I', table_id)) is not null;
        perform pg_advisory_xact_lock(hashtextextended('partita.changes', 0));
        continue when to_regclass(format('partita.%I', table_id)) is not null;
        execute format('create table partita.%I (like partita.changes including defaults including indexes)', table_id);
        execute format(
            'alter table partita.changes attach partition partita.%I for values from (%L) to (%L)',
            table_id, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
    end loop;
end $$;

select partita.ensure_change_tables(7);

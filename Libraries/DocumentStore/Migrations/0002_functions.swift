extension DocumentStoreMigrations {
    /// Epochs, tables of changes by day, key texts.
    static let functions = #"""
        -- The present epoch. Postgres' system identifier or timeline being others than the newest row's means that this database
        -- was restored, or another server took over: that begins an epoch.
        create function partita.current_epoch() returns int language plpgsql as $$
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

        -- Begins an epoch by hand, after a restore that Postgres itself doesn't show.
        create function partita.begin_epoch(reason text) returns int language plpgsql as $$
        declare
            present int := partita.current_epoch();
        begin
            insert into partita.epochs (epoch, system_identifier, timeline, reason)
            select epoch + 1, system_identifier, timeline, begin_epoch.reason from partita.epochs where epoch = present
            on conflict do nothing;
            return partita.current_epoch();
        end $$;

        create function partita.note_epoch_end() returns trigger language plpgsql as $$
        begin
            insert into partita.epoch_ends values (old.app, old.partition, old.epoch, old.head) on conflict do nothing;
            return null;
        end $$;
        create trigger note_epoch_end after update on partita.partitions
            for each row when (old.epoch <> new.epoch) execute function partita.note_epoch_end();

        -- Makes the tables for the changes of the days from yesterday on. They are attached, which lets everybody read and write
        -- meanwhile; PARTITION OF would lock everybody out.
        create function partita.ensure_change_tables(days int) returns void language plpgsql as $$
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

        -- A name that fits Postgres' 63 bytes: a longer one is cut and told apart by its digest.
        create function partita.identifier(name text) returns text language plpgsql immutable strict as $$
        declare
            cut text := name;
        begin
            if octet_length(name) <= 63 then return name; end if;
            while octet_length(cut) > 46 loop cut := left(cut, -1); end loop;
            return cut || '~' || left(md5(name), 16);
        end $$;

        -- The key text of a canonical Extended JSON value (DocumentModel: Value.keyText); null for what can't be a key.
        create function partita.key_text(value json) returns text language plpgsql immutable as $$
        declare
            bytes text;
        begin
            if value is null then return null; end if;
            if json_typeof(value) = 'string' then
                return case when octet_length(value #>> '{}') <= 1024 then 's:' || (value #>> '{}') end;
            end if;
            if json_typeof(value) <> 'object' then return null; end if;
            if value ->> '$oid' is not null then return 'o:' || lower(value ->> '$oid'); end if;
            if value ->> '$numberInt' is not null then return 'l:' || (value ->> '$numberInt')::bigint; end if;
            if value ->> '$numberLong' is not null then return 'l:' || (value ->> '$numberLong')::bigint; end if;
            if value #>> '{$binary,subType}' = '04' then
                bytes := encode(decode(value #>> '{$binary,base64}', 'base64'), 'hex');
                if length(bytes) = 32 then return 'u:' || bytes::uuid; end if;
            end if;
            return null;
        end $$;

        -- The internal partition of a document that has no partition value: 16 for a collection, by FNV-1a of the key text.
        create function partita.internal_partition(database text, collection text, id text) returns text
        language plpgsql immutable as $$
        declare
            bytes bytea := convert_to(id, 'UTF8');
            hash bigint := 2166136261;
        begin
            for i in 0 .. length(bytes) - 1 loop
                hash := ((hash # get_byte(bytes, i)) * 16777619) & 4294967295;
            end loop;
            return 'i:' || database || '.' || collection || ':' || (hash & 15);
        end $$;

        -- Fails with PT403 unless each user may write the partition beside them. To be called under the partitions' locks.
        create function partita.require_write(app_id text, partitions text[], users text[]) returns void
        language plpgsql as $$
        begin
            if exists (
                select from unnest(partitions, users) k(partition, user_id)
                where not coalesce((
                    select g.access = 'write' from partita.grants g
                    where g.app = app_id and g.partition = k.partition and g.user_id in (k.user_id, '*')
                        and (g.expires_at is null or g.expires_at > clock_timestamp())
                    order by g.user_id = '*' limit 1), false))
            then
                raise exception using errcode = 'PT403', message = 'a grant was taken back meanwhile';
            end if;
        end $$;

        -- Fails with PT409 unless as many rows were written as were meant: somebody else was faster.
        create function partita.require_count(written bigint, meant bigint) returns void language plpgsql as $$
        begin
            if written <> meant then
                raise exception using errcode = 'PT409', message = 'somebody else wrote meanwhile';
            end if;
        end $$;
        """#
}

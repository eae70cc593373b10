-- Creates the table of a collection if it doesn't exist, and sets the app's partition key. Without `has_null` it leaves unchanged whether
-- there is a null partition: older services don't give it.
create or replace function partita.ensure_collection(
    app_id text, database_name text, collection_name text, key text, has_null boolean default null
)
returns partita.collections language plpgsql as $$
declare
    found_row partita.collections;
    schema_id text := partita.identifier(app_id || '/' || database_name);
    table_id text := partita.identifier(collection_name);
begin
    perform pg_advisory_xact_lock(hashtextextended('partita.collections', 0));
    select * into found_row from partita.collections
    where app = app_id and database = database_name and name = collection_name;
    if found then
        if found_row.partition_key is distinct from key or found_row.null_partition <> coalesce(has_null, found_row.null_partition) then
            update partita.collections c set partition_key = key, null_partition = coalesce(has_null, c.null_partition)
            where c.app = app_id and c.database = database_name and c.name = collection_name
            returning * into found_row;
        end if;
        return found_row;
    end if;
    execute format('create schema if not exists %I', schema_id);
    execute format('create table %I.%I (
        revision bigint not null,
        incarnation bigint not null,
        created_at timestamptz not null default now(),
        updated_at timestamptz not null default now(),
        epoch int not null,
        incarnation_epoch int not null,
        _id text collate "C" primary key,
        partition text collate "C" not null,
        clocks json,
        body json not null,
        document jsonb not null,
        -- The order in which documents were inserted, regardless of the writer.
        natural_order bigint generated always as identity
    ) with (fillfactor = 90)', schema_id, table_id);
    execute format('create index on %I.%I (partition, epoch, revision)', schema_id, table_id);
    execute format('create index on %I.%I (natural_order)', schema_id, table_id);
    execute format('create trigger partita_before before insert or update on %I.%I for each row
        when (current_setting(''partita.writer'', true) is distinct from ''library'')
        execute function partita.before_write()', schema_id, table_id);
    execute format('create trigger partita_collect after insert or update or delete on %I.%I for each row
        when (current_setting(''partita.writer'', true) is distinct from ''library'')
        execute function partita.collect()', schema_id, table_id);
    execute format('create trigger partita_schema after insert or update on %I.%I for each row
        when (current_setting(''partita.writer'', true) is distinct from ''library'')
        execute function partita.check_schema()', schema_id, table_id);
    execute format('create trigger partita_truncate before truncate on %I.%I
        for each statement execute function partita.refuse_truncate()', schema_id, table_id);
    insert into partita.collections (app, database, name, schema_name, table_name, partition_key, null_partition, relation)
    values (app_id, database_name, collection_name, schema_id, table_id, key, coalesce(has_null, false),
        format('%I.%I', schema_id, table_id)::regclass)
    returning * into found_row;
    return found_row;
end $$;

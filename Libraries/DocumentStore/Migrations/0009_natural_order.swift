extension DocumentStoreMigrations {
    /// Documents have a natural order, that in which they were inserted: a number from a sequence, whoever inserts.
    static let naturalOrder = #"""
        -- Gives a collection's table its numbers; documents that are there get theirs by the time of their creation.
        create function partita.add_natural_order(schema_id text, table_id text) returns void language plpgsql as $$
        declare
            documents bigint;
            writer text := coalesce(current_setting('partita.writer', true), '');
        begin
            execute format('alter table %I.%I add column natural_order bigint', schema_id, table_id);
            -- No document changes: neither triggers nor devices are to hear of it.
            perform set_config('partita.writer', 'library', true);
            execute format('update %1$I.%2$I t set natural_order = o.place from (
                    select _id, row_number() over (order by created_at, incarnation_epoch, incarnation, _id) as place
                    from %1$I.%2$I
                ) o where t._id = o._id', schema_id, table_id);
            get diagnostics documents = row_count;
            perform set_config('partita.writer', writer, true);
            execute format('alter table %I.%I alter column natural_order set not null', schema_id, table_id);
            execute format('alter table %I.%I alter column natural_order add generated always as identity (start with %s)',
                schema_id, table_id, documents + 1);
            execute format('create index on %I.%I (natural_order)', schema_id, table_id);
        end $$;
        create function partita.number_collection() returns trigger language plpgsql as $$
        begin
            -- A restored row names a table that has them.
            if not exists (
                select from pg_attribute a
                where a.attrelid = new.relation and a.attname = 'natural_order' and not a.attisdropped)
            then
                perform partita.add_natural_order(new.schema_name, new.table_name);
            end if;
            return null;
        end $$;
        -- Each collection's table gets them as it is made; those that are there get them now.
        create trigger number_collection after insert on partita.collections
            for each row execute function partita.number_collection();
        select partita.add_natural_order(schema_name, table_name) from partita.collections;
        """#
}

extension DocumentStoreMigrations {
    /// An `_id` may be of any type that MongoDB takes. By another hand such a document is changed or deleted, not inserted: equal
    /// values have one text (DocumentModel: Value.idText), which only the document store makes.
    static let ids = #"""
        -- BEFORE a row is written by another hand: brings both forms of the document together and derives the other columns.
        create or replace function partita.before_write() returns trigger language plpgsql as $$
        declare
            collection partita.collections;
            was json;
            id text;
        begin
            select * into strict collection from partita.collections where relation = tg_relid;
            if tg_op = 'UPDATE' then
                new.epoch := old.epoch;
                new.revision := old.revision;
                new.incarnation_epoch := old.incarnation_epoch;
                new.incarnation := old.incarnation;
                new.clocks := old.clocks;
                new.created_at := old.created_at;
                new.partition := old.partition;
                if new._id <> old._id then perform partita.ambiguous('_id', 'can''t be changed'); end if;
                if new.body::text is distinct from old.body::text then
                    was := partita.hide_nul(new.body::text);
                    new.body := partita.reveal_nul(partita.canonical(was, null, null, ''))::json;
                elsif new.document is distinct from old.document then
                    new.body := partita.reveal_nul(
                        partita.canonical(new.document::json, partita.hide_nul(old.body::text), old.document, ''))::json;
                else
                    return new;
                end if;
                if new.body::text = old.body::text then
                    new.document := old.document;
                    return new;
                end if;
            else
                if new.body is not null then
                    was := partita.hide_nul(new.body::text);
                elsif new.document is not null then
                    was := case when new.document ? '_id' and new.document <> jsonb_build_object('_id', new.document -> '_id')
                        then ('{"_id":' || (new.document -> '_id')::text || ',' || ltrim((new.document - '_id')::text, '{'))::json
                        else new.document::json end;
                else
                    perform partita.ambiguous('', 'neither body nor document is given');
                end if;
                if was -> '_id' is null then
                    -- An ObjectId as a driver would have made it.
                    was := ('{"_id":{"$oid":"' || lpad(to_hex(extract(epoch from clock_timestamp())::bigint), 8, '0')
                        || left(md5(gen_random_uuid()::text), 16) || '"}' || case when was::text ~ '^\s*\{\s*\}\s*$' then '' else ',' end
                        || regexp_replace(was::text, '^\s*\{', ''))::json;
                end if;
                new.body := partita.reveal_nul(partita.canonical(was, null, null, ''))::json;
                new.epoch := 0;
                new.revision := 0;
                new.incarnation_epoch := 0;
                new.incarnation := 0;
                new.clocks := null;
                new.created_at := now();
            end if;
            was := partita.hide_nul(new.body::text);
            if json_typeof(was) <> 'object' then perform partita.ambiguous('', 'is no object'); end if;
            new.document := partita.plain(was)::jsonb;
            new.updated_at := now();
            id := partita.key_text(was -> '_id');
            if id is null and tg_op = 'UPDATE' and old._id >= 'e:' and old._id < 'e;'
                and (was -> '_id')::text = (partita.hide_nul(old.body::text) -> '_id')::text
            then
                id := old._id;
            end if;
            if id is null then perform partita.ambiguous('_id', 'is no string, ObjectId, UUID or integer'); end if;
            if tg_op = 'UPDATE' then
                if id <> old._id then perform partita.ambiguous('_id', 'can''t be changed'); end if;
                new.clocks := partita.raised_clocks(
                    old.clocks, partita.hide_nul(old.body::text), was, old.epoch, old.revision);
            else
                new.clocks := partita.raised_clocks(null, null, null, null, null);
            end if;
            new._id := id;
            new.partition := coalesce(
                partita.key_text(was -> collection.partition_key),
                partita.internal_partition(collection.database, collection.name, id));
            return new;
        end $$;
        """#
}

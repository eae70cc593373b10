-- BEFORE a row is written by an external writer: reconciles both forms of the document, and derives the other columns.
create or replace function partita.before_write() returns trigger language plpgsql as $$
declare
    collection partita.collections;
    was json;
    id text;
    changed text[];
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
            was := partita.hide_nul(old.body::text);
            changed := partita.changed_fields(old.document, new.document);
            if changed is null then
                new.body := partita.reveal_nul(partita.canonical(new.document::json, was, old.document, ''))::json;
            else
                select p.body, p.document into new.body, new.document
                from partita.patched(was, old.document, new.document, changed) p;
                new.body := partita.reveal_nul(new.body::text)::json;
            end if;
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
            was := case when jsonb_typeof(new.document) = 'object' and new.document ? '_id' and new.document <> jsonb_build_object('_id', new.document -> '_id')
                then ('{"_id":' || (new.document -> '_id')::text || ',' || ltrim((new.document - '_id')::text, '{'))::json
                else new.document::json end;
        else
            perform partita.ambiguous('', 'neither body nor document is given');
        end if;
        if json_typeof(was) <> 'object' then perform partita.ambiguous('', 'is no object'); end if;
        if was -> '_id' is null then
            -- An ObjectId as a driver would have generated it.
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
    if changed is null then new.document := partita.plain(was)::jsonb; end if;
    new.updated_at := now();
    id := partita.key_text(was -> '_id');
    if tg_op = 'UPDATE' then
        -- Only key texts are computed here; an _id of another type has to stay as it is.
        if id is null and (was -> '_id')::text = (partita.hide_nul(old.body::text) -> '_id')::text then
            id := old._id;
        end if;
        if id is distinct from old._id then perform partita.ambiguous('_id', 'can''t be changed'); end if;
        if changed is null then
            new.clocks := partita.raised_clocks(
                old.clocks, partita.hide_nul(old.body::text), was, old.epoch, old.revision);
        else
            new.clocks := partita.clocks_raised_at(old.clocks, changed, old.epoch, old.revision);
        end if;
    else
        if id is null then
            raise exception using errcode = '22023', message = '_id: a document that SQL inserts needs a string, ObjectId, UUID or integer',
                hint = 'Write e.g. "text", {"$oid": "…"}, {"$uuid": "…"} or 5; devices and functions may use the other types.';
        end if;
        new.clocks := partita.raised_clocks(null, null, null, null, null);
    end if;
    new._id := id;
    new.partition := partita.partition_of(collection, was, id);
    return new;
end $$;

-- The fields in which two plain documents differ; `null` when the new one needs the whole conversion: it is no object, or has a new
-- field with a name that may be a type's.
create or replace function partita.changed_fields(old jsonb, new jsonb) returns text[] language plpgsql immutable as $$
declare
    changed text[];
begin
    if jsonb_typeof(new) <> 'object' then return null; end if;
    changed := array(
        select n.key from jsonb_each(new) n where old -> n.key is distinct from n.value
        union all
        select o.key from jsonb_object_keys(old) o(key) where not new ? o.key);
    if exists (select from unnest(changed) k where k like '$%' and not old ? k) then return null; end if;
    return changed;
end $$;

-- Both forms of a document of which an external writer has changed some fields of the plain form. The others aren't converted.
create or replace function partita.patched(was json, old jsonb, new jsonb, changed text[], out body json, out document jsonb)
language plpgsql as $$
declare
    kept text;
    added text;
begin
    select string_agg(
        to_json(o.key)::text || ':' || case when o.key = any (changed)
            then partita.canonical((new -> o.key)::json, o.value, old -> o.key, o.key) else o.value::text end, ',')
    into kept
    from json_each(was) o where new ? o.key;
    select string_agg(
        to_json(k)::text || ':' || partita.canonical((new -> k)::json, null, null, k), ',' order by place)
    into added
    from unnest(changed) with ordinality c(k, place) where new ? k and not old ? k;
    body := ('{' || concat_ws(',', kept, added) || '}')::json;
    document := new || coalesce((
        select jsonb_object_agg(f.key, partita.plain(f.value)::jsonb) from json_each(body) f where f.key = any (changed)), '{}');
end $$;

-- AFTER a row was written by an external writer: records its state before the transaction. The row gets its revision at the commit.
create or replace function partita.collect() returns trigger language plpgsql as $$
declare
    tx xid8 := pg_current_xact_id();
begin
    if tg_op = 'INSERT' then
        insert into partita.pending (xid, relation, _id) values (tx, tg_relid, new._id) on conflict do nothing;
    else
        if tg_op = 'UPDATE' and new.body::text = old.body::text then return null; end if;
        insert into partita.pending (
            xid, relation, _id, before, before_partition, before_epoch, before_revision,
            before_incarnation_epoch, before_incarnation)
        values (
            tx, tg_relid, old._id, old.body, old.partition, old.epoch, old.revision,
            old.incarnation_epoch, old.incarnation)
        on conflict do nothing;
    end if;
    if current_setting('partita.collecting', true) is distinct from tx::text then
        -- First the setting: with immediate constraints the insert numbers what there is, and ends the collecting.
        perform set_config('partita.collecting', tx::text, true);
        insert into partita.pending_commits values (tx) on conflict do nothing;
    end if;
    return null;
end $$;

create or replace function partita.refuse_truncate() returns trigger language plpgsql as $$
begin
    raise exception using errcode = '0A000', message = 'TRUNCATE would take documents away without telling the devices',
        hint = 'DELETE FROM the table.';
end $$;

-- At the commit of an external writer: numbers all of its changes in bulk, and writes the change rows.
create or replace function partita.number_pending() returns trigger language plpgsql as $$
declare
    tx xid8 := pg_current_xact_id();
    place record;
    woken text;
begin
    perform set_config('partita.writer', 'library', true);
    for place in
        select c.relation, c.schema_name, c.table_name from partita.collections c
        where c.relation in (select relation from partita.pending where xid = tx)
    loop
        execute format(
            'update partita.pending p set after = t.body, after_partition = t.partition, epoch = t.epoch
            from %I.%I t where p.xid = $1 and p.relation = $2 and t._id = p._id', place.schema_name, place.table_name)
        using tx, place.relation;
    end loop;
    -- A row that was inserted and deleted, or has its former state again, isn't a change. A row at epoch 0 has no revision yet, so
    -- it stays even if its body is the same.
    delete from partita.pending
    where xid = tx and before::text is not distinct from after::text and (after is null or epoch <> 0);
    perform partita.ensure_change_tables(1);
    perform partita.number_changes(tx);

    for place in
        select c.relation, c.schema_name, c.table_name from partita.collections c
        where c.relation in (select relation from partita.pending where xid = tx)
    loop
        execute format(
            'update %I.%I t set epoch = p.epoch, revision = p.revision,
                incarnation_epoch = case when p.before is null or p.left_revision is not null then p.epoch
                    else p.before_incarnation_epoch end,
                incarnation = case when p.before is null or p.left_revision is not null then p.revision
                    else p.before_incarnation end,
                clocks = case when p.left_revision is not null then partita.raised_clocks(null, null, null, null, null)
                    else t.clocks end
            from partita.pending p
            where p.xid = $1 and p.relation = $2 and p._id = t._id and p.revision is not null',
            place.schema_name, place.table_name)
        using tx, place.relation;
    end loop;

    for woken in
        select distinct c.app || '/' || x.partition
        from partita.pending p join partita.collections c using (relation)
        cross join lateral (values (p.before_partition), (p.after_partition)) x(partition)
        where p.xid = tx and x.partition is not null
        limit 64
    loop
        perform pg_notify('partita_changes', case when octet_length(woken) < 7000 then woken else '' end);
    end loop;
    delete from partita.pending where xid = tx;
    delete from partita.pending_commits where xid = tx;
    perform set_config('partita.writer', '', true);
    perform set_config('partita.collecting', '', true);
    return null;
end $$;

-- Gives the pending changes of a transaction their revisions, and writes the change rows and tombstones.
--
-- Without nested loops: `pending` is empty between transactions, so its statistics say nothing about the rows of this one, and a plan
-- for one row takes hours for a hundred thousand. Without just-in-time compilation, which the price of forbidden plans would cause.
create or replace function partita.number_changes(tx xid8) returns void language plpgsql
set enable_nestloop = off set jit = off as $$
declare
    present int := partita.current_epoch();
begin
    with slots as (
        select p.relation, p._id, c.app, s.partition, s.leaves, p.ordinal
        from partita.pending p join partita.collections c using (relation)
        cross join lateral (values
            (p.after_partition, false),
            (case when p.before_partition is distinct from p.after_partition then p.before_partition end, true)
        ) s(partition, leaves)
        where p.xid = tx and s.partition is not null
    ), needs as (
        select app, partition, count(*) as count from slots group by app, partition
    ), heads as (
        insert into partita.partitions as p (app, partition, epoch, head)
        select app, partition, present, count from needs order by app, partition
        on conflict (app, partition) do update set
            -- An epoch that began while this waited for the partition isn't `present` yet, but the row has it.
            head = p.head + excluded.head, epoch = greatest(excluded.epoch, p.epoch, p.anew)
        returning p.app, p.partition, p.epoch, p.head
    ), numbered as (
        select s.relation, s._id, s.leaves, h.epoch,
            h.head - n.count + row_number() over (partition by s.app, s.partition order by s.ordinal, s.leaves) as revision
        from slots s join needs n using (app, partition) join heads h using (app, partition)
    )
    update partita.pending p set
        epoch = n.arriving_epoch, revision = n.arriving,
        left_epoch = n.leaving_epoch, left_revision = n.leaving
    from (
        select relation, _id,
            max(revision) filter (where not leaves) as arriving, max(revision) filter (where leaves) as leaving,
            max(epoch) filter (where not leaves) as arriving_epoch, max(epoch) filter (where leaves) as leaving_epoch
        from numbered group by relation, _id
    ) n
    where p.xid = tx and p.relation = n.relation and p._id = n._id;

    insert into partita.changes (
        app, partition, epoch, revision, database, collection, _id, operation, incarnation_epoch, incarnation,
        before, after, moved_partition, moved_epoch, moved_revision)
    select c.app, p.after_partition, p.epoch, p.revision, c.database, c.name, p._id,
        case when p.before is null then 'insert' else 'update' end,
        case when p.before is null or p.left_revision is not null then p.epoch else p.before_incarnation_epoch end,
        case when p.before is null or p.left_revision is not null then p.revision else p.before_incarnation end,
        p.before, p.after,
        case when p.left_revision is not null then p.before_partition end,
        case when p.left_revision is not null then p.left_epoch end, p.left_revision
    from partita.pending p join partita.collections c using (relation)
    where p.xid = tx and p.revision is not null
    union all
    select c.app, p.before_partition, p.left_epoch, p.left_revision, c.database, c.name, p._id, 'delete',
        p.before_incarnation_epoch, p.before_incarnation, p.before, null,
        case when p.revision is not null then p.before_partition end,
        case when p.revision is not null then p.left_epoch end,
        case when p.revision is not null then p.left_revision end
    from partita.pending p join partita.collections c using (relation)
    where p.xid = tx and p.left_revision is not null;

    insert into partita.tombstones as t (
        app, partition, database, collection, _id, epoch, revision, incarnation_epoch, incarnation)
    select c.app, p.before_partition, c.database, c.name, p._id, p.left_epoch, p.left_revision,
        p.before_incarnation_epoch, p.before_incarnation
    from partita.pending p join partita.collections c using (relation)
    where p.xid = tx and p.left_revision is not null
    on conflict (app, partition, database, collection, _id) do update set
        epoch = excluded.epoch, revision = excluded.revision, incarnation_epoch = excluded.incarnation_epoch,
        incarnation = excluded.incarnation, deleted_at = excluded.deleted_at;
end $$;

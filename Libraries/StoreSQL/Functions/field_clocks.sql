-- The field clocks of a document that an external writer has changed: each changed top-level field counts as written now by the
-- server ('' as author). The text has the form of SyncEngine's FieldClocks.text; epoch 2147483647 stands for "the document's own
-- revision minus n", so that clocks can be written before the revision is known.
create or replace function partita.raised_clocks(clocks json, before json, after json, old_epoch int, old_revision bigint)
returns json language plpgsql as $$
declare
    now_bits bigint := (extract(epoch from clock_timestamp()) * 1000)::bigint << 16;
    own constant text := '2147483647.0';
    document json;
    paths jsonb := '{}';
    cover json;
    others text;
    item record;
begin
    if clocks is null then return json_build_object('d', json_build_array(now_bits, '', own)); end if;
    document := partita.absolute_clock(clocks -> 'd', old_epoch, old_revision);
    for item in select key, value from json_each(coalesce(clocks -> 'p', '{}')) loop
        paths := paths || jsonb_build_object(item.key, partita.absolute_clock(item.value, old_epoch, old_revision));
    end loop;
    for item in
        select coalesce(a.key, b.key) as key from json_each(after) a full join json_each(before) b using (key)
        where a.value::text is distinct from b.value::text
    loop
        cover := coalesce((paths -> item.key)::json, document);
        others := case when cover ->> 1 = '' then cover ->> 3 else cover ->> 2 end;
        paths := (
            select coalesce(jsonb_object_agg(p.key, p.value), '{}') from jsonb_each(paths) p
            where not starts_with(p.key, item.key || '.'));
        paths := paths || jsonb_build_object(item.key,
            jsonb_build_array(greatest((cover ->> 0)::bigint, now_bits), '', own)
            || case when others is null then '[]' else jsonb_build_array(others) end);
    end loop;
    if paths = '{}' then return json_build_object('d', document); end if;
    return json_build_object('d', document, 'p', paths::json);
end $$;

create or replace function partita.absolute_clock(clock json, old_epoch int, old_revision bigint) returns json
language sql immutable as $$
    select json_agg(
        case when place > 2 and value #>> '{}' like '2147483647.%'
            then to_json(old_epoch || '.' || (old_revision - split_part(value #>> '{}', '.', 2)::bigint)) else value end
        order by place)
    from json_array_elements(clock) with ordinality e(value, place)
$$;

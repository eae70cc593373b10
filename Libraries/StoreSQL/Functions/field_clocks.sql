-- The field clocks of a document that an external writer has changed: each changed top-level field counts as written now by the
-- server ('' as author). The text has the form of SyncEngine's FieldClocks.text; epoch 2147483647 stands for "the document's own
-- revision minus n", so that clocks can be written before the revision is known.
create or replace function partita.clocks_raised_at(clocks json, changed text[], old_epoch int, old_revision bigint)
returns json language plpgsql as $$
declare
    now_bits bigint := (extract(epoch from clock_timestamp()) * 1000)::bigint << 16;
    own constant text := '2147483647.0';
    document json;
    paths jsonb := '{}';
    cover json;
    others text;
    field text;
begin
    if clocks is null then return json_build_object('d', json_build_array(now_bits, '', own)); end if;
    document := partita.absolute_clock(clocks -> 'd', old_epoch, old_revision);
    if clocks -> 'p' is not null then
        paths := (
            select coalesce(jsonb_object_agg(p.key, partita.absolute_clock(p.value, old_epoch, old_revision)), '{}')
            from json_each(clocks -> 'p') p);
    end if;
    foreach field in array changed loop
        cover := coalesce((paths -> field)::json, document);
        others := case when cover ->> 1 = '' then cover ->> 3 else cover ->> 2 end;
        if paths <> '{}' then
            paths := (
                select coalesce(jsonb_object_agg(p.key, p.value), '{}') from jsonb_each(paths) p
                where not starts_with(p.key, field || '.'));
        end if;
        paths := paths || jsonb_build_object(field,
            jsonb_build_array(greatest((cover ->> 0)::bigint, now_bits), '', own)
            || case when others is null then '[]' else jsonb_build_array(others) end);
    end loop;
    if paths = '{}' then return json_build_object('d', document); end if;
    return json_build_object('d', document, 'p', paths::json);
end $$;

-- The same, by a comparison of the document's two states.
create or replace function partita.raised_clocks(clocks json, before json, after json, old_epoch int, old_revision bigint)
returns json language sql as $$
    select partita.clocks_raised_at(
        clocks,
        array(
            select coalesce(a.key, b.key) from json_each(after) a full join json_each(before) b using (key)
            where a.value::text is distinct from b.value::text),
        old_epoch, old_revision)
$$;

create or replace function partita.absolute_clock(clock json, old_epoch int, old_revision bigint) returns json
language plpgsql immutable as $$
begin
    if position('"2147483647.' in clock::text) = 0 then return clock; end if;
    return (
        select json_agg(
            case when place > 2 and value #>> '{}' like '2147483647.%'
                then to_json(old_epoch || '.' || (old_revision - split_part(value #>> '{}', '.', 2)::bigint)) else value end
            order by place)
        from json_array_elements(clock) with ordinality e(value, place));
end $$;

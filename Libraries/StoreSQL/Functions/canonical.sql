-- Fails the statement, and names the path of the value whose type can't be determined.
create or replace function partita.ambiguous(path text, why text) returns text language plpgsql as $$
begin
    raise exception using errcode = '22023', message = format('%s: %s', coalesce(nullif(path, ''), 'the document'), why),
        hint = 'Write the value in Extended JSON, e.g. {"$numberLong": "5"}, {"$date": "2026-01-31T12:00:00Z"}, {"$oid": "…"}.';
end $$;

-- The keys that say that an object is a value of another type.
create or replace function partita.type_names() returns text[] language sql immutable as $$
    select '{$oid,$numberInt,$numberLong,$numberDouble,$numberDecimal,$date,$binary,$uuid,$timestamp,$regularExpression,$symbol,$code,$dbPointer,$minKey,$maxKey,$undefined}'::text[]
$$;

-- The Extended JSON wrapper of a canonical value: its first key if that begins with "$", else null.
create or replace function partita.wrapper(value json) returns text language plpgsql immutable as $$
declare
    key text;
begin
    -- The query costs more than a look at the text; an escape in the key may be of a "$".
    if value is null or value::text !~ '^\s*\{\s*"[$\\]' then return null; end if;
    key := (select k from json_object_keys(value) k limit 1);
    if key like '$%' and key not in ('$ref', '$id', '$db') then return key; end if;
    return null;
end $$;

create or replace function partita.canonical_date(moment text, path text) returns text language plpgsql as $$
begin
    return '{"$date":{"$numberLong":"' || trunc(extract(epoch from moment::timestamptz) * 1000)::bigint || '"}}';
exception when data_exception then
    return partita.ambiguous(path, 'is no date');
end $$;

create or replace function partita.canonical_double(number numeric, path text) returns text language plpgsql as $$
declare
    double float8;
begin
    double := number::float8;
    return '{"$numberDouble":"' || double::text
        || case when double::text ~ '[.e]' then '' else '.0' end || '"}';
exception when numeric_value_out_of_range then
    return partita.ambiguous(path, 'is a number beyond the range of a double');
end $$;

-- The canonical form of a number in `document`, given the type of the former value at its path.
create or replace function partita.canonical_number(value json, was text, path text) returns text language plpgsql as $$
declare
    number numeric := (value #>> '{}')::numeric;
    integral boolean := number = trunc(number);
    written_integral boolean := (value #>> '{}') !~ '[.eE]';
begin
    case was
    when '$date' then
        if integral and abs(number) < 9223372036854775808 then
            return '{"$date":{"$numberLong":"' || number::bigint || '"}}';
        end if;
        return partita.ambiguous(path, 'is a date there, and a fraction is none');
    when '$numberDecimal' then return '{"$numberDecimal":"' || number || '"}';
    when '$numberDouble' then return partita.canonical_double(number, path);
    when '$numberInt' then
        if integral and number between -2147483648 and 2147483647 then
            return '{"$numberInt":"' || number::bigint || '"}';
        end if;
    when '$numberLong' then
        if integral and number between -9223372036854775808 and 9223372036854775807 then
            return '{"$numberLong":"' || number::bigint || '"}';
        end if;
    else
        if was is not null then
            return partita.ambiguous(path, format('was a %s, and a plain number is none', was));
        end if;
    end case;
    if not written_integral then return partita.canonical_double(number, path); end if;
    if number between -2147483648 and 2147483647 then return '{"$numberInt":"' || number::bigint || '"}'; end if;
    if number between -9223372036854775808 and 9223372036854775807 then
        return '{"$numberLong":"' || number::bigint || '"}';
    end if;
    return partita.ambiguous(path, 'is an integer beyond 64 bits: a double or a decimal?');
end $$;

create or replace function partita.canonical_string(value json, was text, was_value json, path text) returns text language plpgsql as $$
declare
    content text;
begin
    if was = '$symbol' then return '{"$symbol":' || value::text || '}'; end if;
    if was is null or was in ('$numberInt', '$numberLong', '$numberDouble', '$undefined', '$text') then
        return value::text;
    end if;
    content := value #>> '{}';
    if was = '$oid' and content ~ '^[0-9a-fA-F]{24}$' then return '{"$oid":"' || lower(content) || '"}'; end if;
    if was = '$date' and content ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}' then return partita.canonical_date(content, path); end if;
    if was = '$binary' and was_value #>> '{$binary,subType}' = '04'
        and content ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then
        return partita.canonical_uuid(content);
    end if;
    return partita.ambiguous(path, format('was a %s, and this string is none', was));
end $$;

create or replace function partita.canonical_uuid(uuid text) returns text language sql immutable as $$
    select '{"$binary":{"base64":"' || encode(decode(replace(uuid, '-', ''), 'hex'), 'base64') || '","subType":"04"}}'
$$;

-- Converts an Extended JSON wrapper from any of its forms to its canonical form.
create or replace function partita.canonical_wrapper(value json, wrapper text, path text) returns text language plpgsql as $$
declare
    content json := value -> wrapper;
    plain text := value ->> wrapper;
    fields int := (select count(*) from json_object_keys(value));
begin
    if fields = 1 then
        case wrapper
        when '$oid' then
            if plain ~ '^[0-9a-fA-F]{24}$' then return '{"$oid":"' || lower(plain) || '"}'; end if;
        when '$numberInt' then
            if plain ~ '^-?[0-9]{1,10}$' and plain::bigint between -2147483648 and 2147483647 then
                return '{"$numberInt":"' || plain::bigint || '"}';
            end if;
        when '$numberLong' then
            if plain ~ '^-?[0-9]{1,19}$' and plain::numeric between -9223372036854775808 and 9223372036854775807 then
                return '{"$numberLong":"' || plain::bigint || '"}';
            end if;
        when '$numberDouble' then
            if plain in ('NaN', 'Infinity', '-Infinity') then return '{"$numberDouble":"' || plain || '"}'; end if;
            if plain ~ '^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?$' then
                if plain::numeric = 0 and plain like '-%' then return '{"$numberDouble":"-0.0"}'; end if;
                return partita.canonical_double(plain::numeric, path);
            end if;
        when '$numberDecimal' then
            if plain ~ '^(-?[0-9]*\.?[0-9]+([eE][-+]?[0-9]{1,4})?|NaN|-?Infinity)$' then
                return '{"$numberDecimal":"' || plain || '"}';
            end if;
        when '$date' then
            if json_typeof(content) = 'number' and plain ~ '^-?[0-9]{1,18}$' then
                return '{"$date":{"$numberLong":"' || plain::bigint || '"}}';
            elsif json_typeof(content) = 'string' then
                return partita.canonical_date(plain, path);
            elsif content ->> '$numberLong' ~ '^-?[0-9]{1,19}$' then
                return '{"$date":{"$numberLong":"' || (content ->> '$numberLong')::bigint || '"}}';
            end if;
        when '$uuid' then
            if plain ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then return partita.canonical_uuid(plain); end if;
        when '$text' then
            if json_typeof(content) = 'string' and plain ~ '\\u0000' then return '{"$text":' || content::text || '}'; end if;
        when '$binary' then
            if content ->> 'subType' ~ '^[0-9a-fA-F]{1,2}$' and content ->> 'base64' ~ '^[A-Za-z0-9+/]*={0,2}$' then
                return '{"$binary":{"base64":"' || (content ->> 'base64') || '","subType":"'
                    || lpad(lower(content ->> 'subType'), 2, '0') || '"}}';
            end if;
        when '$regularExpression' then
            if json_typeof(content -> 'pattern') = 'string' and json_typeof(content -> 'options') = 'string' then
                return '{"$regularExpression":{"pattern":' || (content -> 'pattern')::text
                    || ',"options":' || (content -> 'options')::text || '}}';
            end if;
        when '$timestamp' then
            if content ->> 't' ~ '^[0-9]{1,10}$' and content ->> 'i' ~ '^[0-9]{1,10}$' then
                return '{"$timestamp":{"t":' || (content ->> 't')::bigint || ',"i":' || (content ->> 'i')::bigint || '}}';
            end if;
        when '$minKey', '$maxKey' then return '{"' || wrapper || '":1}';
        when '$undefined' then return '{"$undefined":true}';
        when '$symbol', '$code' then
            if json_typeof(content) = 'string' then return '{"' || wrapper || '":' || content::text || '}'; end if;
        when '$dbPointer' then
            if json_typeof(content -> '$ref') = 'string' and content #>> '{$id,$oid}' ~ '^[0-9a-fA-F]{24}$' then
                return '{"$dbPointer":{"$ref":' || (content -> '$ref')::text || ',"$id":{"$oid":"'
                    || lower(content #>> '{$id,$oid}') || '"}}}';
            end if;
        else null;
        end case;
    elsif fields = 2 and value -> '$code' is not null and json_typeof(value -> '$scope') = 'object' then
        return '{"$code":' || (value -> '$code')::text || ',"$scope":'
            || partita.canonical(value -> '$scope', null, null, path || '.$scope') || '}';
    end if;
    return partita.ambiguous(path, format('%s is no Extended JSON', left(value::text, 100)));
end $$;

-- The canonical Extended JSON of a value that an external writer has written.
--
-- `was` is the former canonical value at the path, `was_plain` its form in `document`. A value that is equal to `was_plain` keeps
-- its exact form; a value that differs gets the old type if it fits, else the type that its form implies; a value whose type can't
-- be determined fails the statement with an error that names the path.
create or replace function partita.canonical(value json, was json, was_plain jsonb, path text) returns text language plpgsql as $$
declare
    kind constant text := json_typeof(value);
    type_names constant text[] := partita.type_names();
    wrapper text;
    was_wrapper text;
    has_type_name boolean;
    repeats boolean;
    result text;
begin
    if was is not null and was_plain is not null then
        if value::jsonb = was_plain then return was::text; end if;
    end if;
    was_wrapper := partita.wrapper(was);
    -- The document itself counts as a level, and has no path.
    if kind in ('object', 'array') and length(path) - length(replace(path, '.', '')) >= 99 then
        return partita.ambiguous(path, 'is nested deeper than 100 levels');
    end if;
    case kind
    when 'null', 'boolean' then return value::text;
    when 'number' then return partita.canonical_number(value, was_wrapper, path);
    when 'string' then return partita.canonical_string(value, was_wrapper, was, path);
    when 'array' then
        return partita.canonical_array(value, case when json_typeof(was) = 'array' then was end, was_plain, path);
    else
        wrapper := partita.wrapper(value);
        if wrapper is not null then return partita.canonical_wrapper(value, wrapper, path); end if;
        if was_wrapper is not null or json_typeof(was) <> 'object' then was := null; end if;
        -- Each text is parsed once, not once per key. What needs no decision is written here, since a call per field costs more than
        -- the rest. A field with the name of a type would come first and be read as a wrapper if the fields before it were removed
        -- (DocumentModel: Document.misreadField).
        if was is null then
            select string_agg(
                    to_json(n.key)::text || ':' || case
                        when json_typeof(n.value) in ('null', 'boolean', 'string') then n.value::text
                        when json_typeof(n.value) = 'number' and n.value::text ~ '^(0|-?[1-9][0-9]{0,8})$'
                            then '{"$numberInt":"' || n.value::text || '"}'
                        else partita.canonical(n.value, null, null, ltrim(path || '.' || n.key, '.'))
                    end, ','),
                bool_or(n.key = any (type_names)), count(*) > count(distinct n.key)
            into result, has_type_name, repeats
            from json_each(value) n(key, value);
        else
            -- Old keys keep their places; new ones follow in their own order.
            select string_agg(
                    to_json(n.key)::text || ':' || case
                        when o.value is not null and n.value::jsonb = was_plain -> n.key then o.value::text
                        when json_typeof(n.value) in ('null', 'boolean') then n.value::text
                        when json_typeof(n.value) = 'string' and coalesce(json_typeof(o.value), '') <> 'object'
                            then n.value::text
                        else partita.canonical(n.value, o.value, was_plain -> n.key, ltrim(path || '.' || n.key, '.'))
                    end,
                    ',' order by o.place is null, o.place, n.place),
                bool_or(n.key = any (type_names)), count(*) > count(distinct n.key)
            into result, has_type_name, repeats
            from json_each(value) with ordinality n(key, value, place)
            left join json_each(was) with ordinality o(key, value, place) on o.key = n.key;
        end if;
        if has_type_name then
            return partita.ambiguous(path, 'has a field with the name of a type of Extended JSON');
        end if;
        if repeats then return partita.ambiguous(path, 'repeats a key'); end if;
        return '{' || coalesce(result, '') || '}';
    end case;
end $$;

-- Elements are first matched with equal old elements (one at the same place before others); an element without a match gets its
-- type from the old element at its place, if that has no match either.
create or replace function partita.canonical_array(value json, was json, was_plain jsonb, path text) returns text language plpgsql as $$
declare
    result text;
begin
    if was is null then
        select string_agg(
            case
                when json_typeof(e.value) in ('null', 'boolean', 'string') then e.value::text
                else partita.canonical(e.value, null, null, path || '.' || (e.place - 1))
            end,
            ',' order by e.place)
        into result from json_array_elements(value) with ordinality e(value, place);
        return '[' || coalesce(result, '') || ']';
    end if;
    with new as materialized (
        select e.place, e.value, e.value::jsonb as plain from json_array_elements(value) with ordinality e(value, place)
    ), old as materialized (
        select e.place, e.value, p.value as plain
        from json_array_elements(was) with ordinality e(value, place)
        join jsonb_array_elements(was_plain) with ordinality p(value, place) using (place)
    ), same as materialized (
        select n.place, o.place as old_place from new n join old o using (place) where n.plain = o.plain
    ), moved as materialized (
        -- Of the elements that are equal, the first without a match gets the first.
        select n.place, o.place as old_place
        from (
            select place, plain, row_number() over (partition by plain order by place) as turn from new
            where place not in (select place from same)
        ) n join (
            select place, plain, row_number() over (partition by plain order by place) as turn from old
            where place not in (select old_place from same)
        ) o using (plain, turn)
    ), matched as materialized (
        select * from same union all select * from moved
    )
    select string_agg(
        case
            when m.place is not null then o.value::text
            when h.place is not null and h.place not in (select old_place from matched)
                then partita.canonical(n.value, h.value, h.plain, path || '.' || (n.place - 1))
            else partita.canonical(n.value, null, null, path || '.' || (n.place - 1))
        end,
        ',' order by n.place)
    into result
    from new n
    left join matched m using (place)
    left join old o on o.place = m.old_place
    left join old h on h.place = n.place;
    return '[' || coalesce(result, '') || ']';
end $$;

-- The plain form of a canonical value, for `document`.
create or replace function partita.plain(value json) returns text language plpgsql as $$
declare
    wrapper text;
    content text;
    result text;
begin
    case json_typeof(value)
    when 'null', 'boolean', 'number', 'string' then return value::text;
    when 'array' then
        select string_agg(
            case when json_typeof(e.value) in ('null', 'boolean', 'number', 'string') then e.value::text
                else partita.plain(e.value) end, ',')
        into result from json_array_elements(value) e(value);
        return '[' || coalesce(result, '') || ']';
    else
        wrapper := partita.wrapper(value);
        -- An object with another name of this form, such as a stored update, is one.
        if wrapper is null or wrapper <> all (partita.type_names()) then
            select string_agg(
                to_json(e.key)::text || ':' || case
                    when json_typeof(e.value) in ('null', 'boolean', 'number', 'string') then e.value::text
                    -- The most frequent ones, without a call each.
                    when e.value::text ~ '^\{"\$(numberInt|numberLong)":"-?[0-9]{1,15}"\}$'
                        then split_part(e.value::text, '"', 4)
                    when e.value::text ~ '^\{"\$date":\{"\$numberLong":"-?[0-9]{1,15}"\}\}$'
                        then '{"$date":' || split_part(e.value::text, '"', 6) || '}'
                    when starts_with(e.value::text, '{"$oid":') then e.value::text
                    else partita.plain(e.value) end, ',')
            into result
            from json_each(value) e(key, value);
            return '{' || coalesce(result, '') || '}';
        end if;
        content := value ->> wrapper;
        case wrapper
        when '$numberInt' then return content;
        when '$symbol' then return (value -> '$symbol')::text;
        -- Without the bits of one of several representations of a number.
        when '$numberDecimal' then return json_build_object(wrapper, split_part(content, ':', 1))::text;
        when '$numberLong' then
            if abs(content::numeric) <= 9007199254740992 then return content; end if;
        when '$numberDouble' then
            if content not in ('NaN', 'Infinity', '-Infinity') then return content; end if;
        when '$date' then
            content := value #>> '{$date,$numberLong}';
            if abs(content::numeric) <= 9007199254740992 then return '{"$date":' || content || '}'; end if;
        else null;
        end case;
        return value::text;
    end case;
end $$;

-- Postgres' json functions refuse U+0000 in strings. Between `hide_nul` and `reveal_nul`, a string with one is {"$text": its
-- escaped content}.
create or replace function partita.hide_nul(body text) returns json language plpgsql immutable as $$
begin
    if position('\u0000' in body) = 0 then return body::json; end if;
    -- Strings, and the text between them, in their order.
    return (
        select string_agg(
            case when m[1] like '"%' and m[1] ~ '[^\\](\\\\)*\\u0000'
                then '{"$text":' || to_json(substr(m[1], 2, length(m[1]) - 2)) || '}' else m[1] end,
            '' order by place)
        from regexp_matches(body, '("(?:[^"\\]|\\.)*"|[^"]+)', 'g') with ordinality t(m, place))::json;
end $$;

create or replace function partita.reveal_nul(body text) returns text language plpgsql immutable as $$
declare
    result text := '';
    rest text := body;
    token text;
    content text;
    place int;
begin
    if position('"$text"' in body) = 0 then return body; end if;
    for token in select m[1] from regexp_matches(body, '(\{"\$text":"(?:[^"\\]|\\.)*"\})', 'g') m loop
        place := position(token in rest);
        content := token::json ->> '$text';
        result := result || left(rest, place - 1)
            || case when content ~ '(^|[^\\])(\\\\)*\\u0000' then '"' || content || '"' else token end;
        rest := substr(rest, place + length(token));
    end loop;
    return result || rest;
end $$;

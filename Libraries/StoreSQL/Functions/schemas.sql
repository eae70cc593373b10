-- The name that the type of a canonical value has in `bsonType`.
create or replace function partita.bson_type(value json) returns text language plpgsql immutable as $$
begin
    case json_typeof(value)
    when 'null' then return 'null';
    when 'boolean' then return 'bool';
    when 'string' then return 'string';
    when 'array' then return 'array';
    else null;
    end case;
    return case partita.wrapper(value)
        when '$oid' then 'objectId' when '$numberInt' then 'int' when '$numberLong' then 'long'
        when '$numberDouble' then 'double' when '$numberDecimal' then 'decimal' when '$date' then 'date'
        when '$binary' then case when value #>> '{$binary,subType}' = '04' then 'uuid' else 'binData' end
        when '$timestamp' then 'timestamp' when '$regularExpression' then 'regex' when '$code' then 'javascript'
        when '$minKey' then 'minKey' when '$maxKey' then 'maxKey' when '$symbol' then 'string' when '$text' then 'string'
        else 'object' end;
end $$;

-- The number of a canonical value; null if it isn't a number.
create or replace function partita.bson_number(value json) returns numeric language plpgsql immutable as $$
declare
    plain text := coalesce(
        value ->> '$numberInt', value ->> '$numberLong', value ->> '$numberDouble', value ->> '$numberDecimal');
begin
    if json_typeof(value) = 'number' then return (value #>> '{}')::numeric; end if;
    if json_typeof(value) <> 'object' then return null; end if;
    return plain::numeric;
end $$;

-- Whether a value has a type: a number has every number type that can represent it, since JavaScript doesn't distinguish them.
create or replace function partita.is_of_type(value json, wanted text) returns boolean language plpgsql immutable as $$
declare
    type text := partita.bson_type(value);
    number numeric;
begin
    wanted := case wanted when 'float' then 'double' else wanted end;
    if wanted = 'mixed' or wanted = type then return true; end if;
    if type not in ('int', 'long', 'double', 'decimal') then return false; end if;
    if wanted = 'number' then return true; end if;
    if type = 'decimal' then return false; end if;
    number := partita.bson_number(value);
    case wanted
    when 'int' then return number = trunc(number) and number between -2147483648 and 2147483647;
    when 'long' then
        return number = trunc(number) and number >= -9223372036854775808 and number < 9223372036854775808;
    when 'double' then
        -- A double has 53 binary digits: a whole number has to fit into them without its trailing zeros.
        return number = 0 or abs(number) / (number::bigint & (-number)::bigint) <= 9007199254740992;
    else return false;
    end case;
exception when numeric_value_out_of_range then
    return true; -- the lowest long, a power of two
end $$;

-- A form that is equal for canonical values that are equal in MongoDB: numbers of any type are equal, and documents whose fields
-- have the same order.
create or replace function partita.comparable(value json) returns jsonb language plpgsql immutable as $$
declare
    wrapper text := partita.wrapper(value);
    number numeric := partita.bson_number(value);
begin
    if number is not null then
        -- JSON has only finite numbers.
        if number in ('NaN', 'Infinity', '-Infinity') then return jsonb_build_object('$number', number::text); end if;
        return to_jsonb(trim_scale(number));
    end if;
    if json_typeof(value) = 'array' then
        return coalesce(
            (select jsonb_agg(partita.comparable(e.value) order by e.place)
            from json_array_elements(value) with ordinality e(value, place)), '[]');
    end if;
    if wrapper = '$symbol' then return value -> wrapper; end if;
    if json_typeof(value) <> 'object' or wrapper is not null then return value; end if;
    return jsonb_build_object('$fields', coalesce(
        (select jsonb_agg(jsonb_build_array(e.key, partita.comparable(e.value)) order by e.place)
        from json_each(value) with ordinality e(key, value, place)), '[]'));
end $$;

-- The text of a value, with U+F8FF for each NUL, which Postgres can't store; null if it isn't a text.
create or replace function partita.bson_text(value json) returns text language plpgsql immutable as $$
begin
    if json_typeof(value) = 'string' then return value #>> '{}'; end if;
    if partita.wrapper(value) is distinct from '$text' then return null; end if;
    return ('"' || regexp_replace(value ->> '$text', '(?<=(?:^|[^\\])(?:\\\\)*)\\u0000', '\\uf8ff', 'g') || '"')::json #>> '{}';
end $$;

-- Why a text doesn't match a pattern; null if it matches. `pattern` has the pattern as it was written and in Postgres' syntax.
create or replace function partita.pattern_violation(subject text, pattern json) returns text language plpgsql immutable as $$
begin
    if pattern ->> 1 is null then
        return format('can''t be compared with the pattern %s by Postgres; write it by a client or a function', pattern ->> 0);
    end if;
    if subject ~ (pattern ->> 1) then return null; end if;
    return format('doesn''t match the pattern %s', pattern ->> 0);
end $$;

-- Why a count violates its bounds; null if it doesn't.
create or replace function partita.count_violation(count int, what text, lower json, upper json) returns text language plpgsql immutable as $$
begin
    if count < partita.bson_number(lower) then
        return format('has %s %s, at least %s are asked for', count, what, partita.bson_number(lower));
    end if;
    if count > partita.bson_number(upper) then
        return format('has %s %s, at most %s are allowed', count, what, partita.bson_number(upper));
    end if;
    return null;
end $$;

-- Why a document's fields violate a schema, with the path; null if they don't.
create or replace function partita.fields_violation(value json, schema json, path text) returns text language plpgsql immutable as $$
#variable_conflict use_variable
declare
    place text := case when path = '' then '' else path || '.' end;
    key text;
    field json;
    part json;
    entry json;
    found text;
    is_free boolean;
    is_named boolean;
begin
    for key in select json_array_elements_text(schema -> 'required') loop
        if value -> key is null then return place || key || ': is required'; end if;
    end loop;
    -- Uses `json_each`, since access to a field by its name parses the whole document.
    for key, field in select e.key, e.value from json_each(value) e loop
        -- A field that isn't required may be null.
        is_free := json_typeof(field) = 'null' and not exists (
            select from json_array_elements_text(schema -> 'required') r where r = key);
        part := schema -> 'properties' -> key;
        is_named := part is not null;
        if is_named and not is_free then
            found := partita.schema_violation(field, part, place || key);
            if found is not null then return found; end if;
        end if;
        for entry in select json_array_elements(schema -> 'patternProperties') loop
            found := partita.pattern_violation(key, entry -> 0);
            if found is not null then
                continue when entry -> 0 ->> 1 is not null;
                return place || key || ': ' || found;
            end if;
            is_named := true;
            if not is_free then
                found := partita.schema_violation(field, entry -> 1, place || key);
                if found is not null then return found; end if;
            end if;
        end loop;
        continue when is_named;
        if schema ->> 'additionalProperties' = 'false' then
            if path <> '' or key <> '_id' then return place || key || ': isn''t declared in the schema'; end if;
        elsif json_typeof(schema -> 'additionalProperties') = 'object' then
            found := partita.schema_violation(field, schema -> 'additionalProperties', place || key);
            if found is not null then return found; end if;
        end if;
    end loop;
    for entry in select json_array_elements(schema -> 'dependencies') loop
        continue when value -> (entry ->> 0) is null;
        if json_typeof(entry -> 1) = 'array' then
            for key in select json_array_elements_text(entry -> 1) loop
                if value -> key is null then
                    return place || key || ': is required beside ' || (entry ->> 0);
                end if;
            end loop;
        else
            found := partita.schema_violation(value, entry -> 1, path);
            if found is not null then return found; end if;
        end if;
    end loop;
    return null;
end $$;

-- Why a canonical value violates a schema, with its path; null if it doesn't. It reads the form that the services make of a schema,
-- and reports the same violations in the same order and words as they do (DocumentSchema).
create or replace function partita.schema_violation(value json, schema json, path text) returns text language plpgsql immutable as $$
#variable_conflict use_variable
declare
    place text := case when path = '' then '' else path || ': ' end;
    inside text := case when path = '' then '' else path || '.' end;
    type text := partita.bson_type(value);
    wanted json := schema -> 'bsonType';
    found text;
    count int;
    number numeric;
    bound numeric;
    part json;
    element json;
    i int;
begin
    if wanted is not null and not exists (
        select from json_array_elements_text(wanted) w where partita.is_of_type(value, w))
    then
        return place || format('is %s, the schema asks for %s', case type when 'uuid' then 'binData' else type end,
            (select string_agg(w, ' or ' order by w collate "C") from json_array_elements_text(wanted) w));
    end if;
    if schema -> 'enum' is not null and not exists (
        select from json_array_elements(schema -> 'enum') e where partita.comparable(e) = partita.comparable(value))
    then
        return place || 'isn''t one of the allowed values';
    end if;
    if type = 'object' then
        found := partita.fields_violation(value, schema, path);
        if found is not null then return found; end if;
        count := (select count(*) from json_object_keys(value));
        found := partita.count_violation(count, 'fields', schema -> 'minProperties', schema -> 'maxProperties');
        if found is not null then return place || found; end if;
    elsif type = 'array' then
        count := json_array_length(value);
        found := partita.count_violation(count, 'elements', schema -> 'minItems', schema -> 'maxItems');
        if found is not null then return place || found; end if;
        if schema -> 'items' is not null then
            for i, element in select e.place - 1, e.value from json_array_elements(value) with ordinality e(value, place) loop
                part := case when json_typeof(schema -> 'items') = 'object' then schema -> 'items'
                    when i < json_array_length(schema -> 'items') then schema -> 'items' -> i
                    else schema -> 'additionalItems' end;
                if json_typeof(part) = 'boolean' then
                    exit when part #>> '{}' = 'true';
                    return inside || i || ': isn''t declared in the schema';
                end if;
                found := partita.schema_violation(element, part, inside || i);
                if found is not null then return found; end if;
            end loop;
        end if;
        if schema ->> 'uniqueItems' = 'true' then
            select min(numbered.place) - 1 into count from (
                select e.place, row_number() over (partition by partita.comparable(e.value) order by e.place) as nth
                from json_array_elements(value) with ordinality e(value, place)) numbered
            where numbered.nth > 1;
            if count is not null then return inside || count || ': stands in the list twice'; end if;
        end if;
    elsif type = 'string' and partita.bson_text(value) is not null then
        found := partita.count_violation(
            length(partita.bson_text(value)), 'characters', schema -> 'minLength', schema -> 'maxLength');
        if found is null and schema -> 'pattern' is not null then
            found := partita.pattern_violation(partita.bson_text(value), schema -> 'pattern');
        end if;
        if found is not null then return place || found; end if;
    else
        number := partita.bson_number(value);
        if number is not null then
            bound := partita.bson_number(schema -> 'minimum');
            -- In Postgres NaN is greater than all numbers, but it doesn't satisfy any minimum.
            if number < bound or number = 'NaN' and bound is not null
                or number = bound and schema ->> 'exclusiveMinimum' = 'true'
            then
                return place || 'is too small';
            end if;
            bound := partita.bson_number(schema -> 'maximum');
            if number > bound or number = bound and schema ->> 'exclusiveMaximum' = 'true' then
                return place || 'is too large';
            end if;
            if schema -> 'multipleOf' is not null then
                -- Fifteen digits of a double are used, as in MongoDB's conversion: 0.3 is a multiple of 0.1.
                if type = 'double' then number := (value ->> '$numberDouble')::float8::numeric; end if;
                bound := coalesce(
                    (schema -> 'multipleOf' ->> '$numberDouble')::float8::numeric,
                    partita.bson_number(schema -> 'multipleOf'));
                if number % bound <> 0 then
                    return place || format('isn''t a multiple of %s', partita.plain(schema -> 'multipleOf'));
                end if;
            end if;
        end if;
    end if;
    for part in select json_array_elements(schema -> 'allOf') loop
        found := partita.schema_violation(value, part, path);
        if found is not null then return found; end if;
    end loop;
    if json_array_length(schema -> 'anyOf') > 0 and not exists (
        select from json_array_elements(schema -> 'anyOf') s where partita.schema_violation(value, s, path) is null)
    then
        return place || 'fits none of the alternatives';
    end if;
    if json_array_length(schema -> 'oneOf') > 0 and 1 <> (
        select count(*) from json_array_elements(schema -> 'oneOf') s where partita.schema_violation(value, s, path) is null)
    then
        return place || 'doesn''t fit exactly one of the alternatives';
    end if;
    if schema -> 'not' is not null and partita.schema_violation(value, schema -> 'not', path) is null then
        return place || 'fits what is excluded';
    end if;
    return null;
end $$;

-- AFTER a row was written by an external writer: fails the statement if the document violates its collection's schema.
create or replace function partita.check_schema() returns trigger language plpgsql as $$
declare
    wanted json;
    found text;
begin
    select s.schema into wanted from partita.collections c
    join partita.schemas s on s.app = c.app and s.database = c.database and s.collection = c.name
    where c.relation = tg_relid;
    if wanted is null then return null; end if;
    if wanted ->> 'form' is distinct from '2' then
        raise exception using errcode = '23514', schema = tg_table_schema, table = tg_table_name,
            message = 'the schema of this collection was deployed by an older version: run partita app deploy again';
    end if;
    found := partita.schema_violation(partita.hide_nul(new.body::text), wanted, '');
    if found is not null then
        raise exception using errcode = '23514', message = found, schema = tg_table_schema, table = tg_table_name;
    end if;
    return null;
end $$;

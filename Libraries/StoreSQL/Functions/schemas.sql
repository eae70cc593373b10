-- The type of a canonical value by its name in `bsonType`.
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

-- The number that a canonical value is; null for what is none, or not finite.
create or replace function partita.bson_number(value json) returns numeric language plpgsql immutable as $$
declare
    plain text := coalesce(
        value ->> '$numberInt', value ->> '$numberLong', value ->> '$numberDouble', value ->> '$numberDecimal');
begin
    if json_typeof(value) = 'number' then return (value #>> '{}')::numeric; end if;
    return case when plain ~ '^-?[0-9]*\.?[0-9]+([eE][-+]?[0-9]{1,4})?$' then plain::numeric end;
end $$;

-- Whether a value is of a type: a number is of every number type that holds it, since JavaScript doesn't tell them apart.
create or replace function partita.is_of_type(value json, wanted text) returns boolean language plpgsql immutable as $$
declare
    type text := partita.bson_type(value);
    number numeric;
begin
    wanted := case wanted when 'boolean' then 'bool' when 'integer' then 'long' when 'objectid' then 'objectId'
        when 'binary' then 'binData' when 'float' then 'double' else wanted end;
    if wanted = 'mixed' or wanted = type then return true; end if;
    if type not in ('int', 'long', 'double', 'decimal') then return false; end if;
    if wanted = 'number' then return true; end if;
    if type = 'decimal' then return false; end if;
    number := partita.bson_number(value);
    return coalesce(case wanted
        when 'int' then number = trunc(number) and number between -2147483648 and 2147483647
        when 'long' then number = trunc(number) and abs(number) < 9223372036854775808
        when 'double' then type = 'int' or number::float8::numeric = number
        else false end, false);
end $$;

-- The form that is equal for canonical values that MongoDB holds equal.
create or replace function partita.comparable(value json) returns jsonb language sql immutable as $$
    select coalesce(to_jsonb(trim_scale(partita.bson_number(value))), partita.plain(value)::jsonb)
$$;

-- What keeps a canonical value from being what a schema says, with its path; null when nothing does. It says the same as the
-- services, which read the same schema; they refuse what is no schema when the app is deployed.
create or replace function partita.schema_violation(value json, schema json, path text) returns text language plpgsql immutable as $$
#variable_conflict use_variable
declare
    place text := case when path = '' then '' else path || ': ' end;
    wanted json := coalesce(schema -> 'bsonType', schema -> 'type');
    key text;
    inner_path text;
    found text;
    count int;
    number numeric;
    part json;
begin
    if wanted is not null and not exists (
        select from json_array_elements_text(
            case when json_typeof(wanted) = 'array' then wanted else json_build_array(wanted) end) w
        where partita.is_of_type(value, w))
    then
        return place || format('is %s, the schema asks for %s', partita.bson_type(value), wanted #>> '{}');
    end if;
    if schema -> 'enum' is not null and not exists (
        select from json_array_elements(schema -> 'enum') e where partita.comparable(e) = partita.comparable(value))
    then
        return place || 'isn''t one of the allowed values';
    end if;
    if partita.bson_type(value) = 'object' then
        for key in select json_array_elements_text(schema -> 'required') loop
            if value -> key is null then return ltrim(path || '.' || key, '.') || ': is required'; end if;
        end loop;
        for key in select json_object_keys(value) loop
            inner_path := ltrim(path || '.' || key, '.');
            part := schema -> 'properties' -> key;
            if part is not null then
                continue when json_typeof(value -> key) = 'null' and not exists (
                    select from json_array_elements_text(schema -> 'required') r where r = key);
                found := partita.schema_violation(value -> key, part, inner_path);
            elsif schema ->> 'additionalProperties' = 'false' then
                if path <> '' or key <> '_id' then return inner_path || ': isn''t declared in the schema'; end if;
            elsif json_typeof(schema -> 'additionalProperties') = 'object' then
                found := partita.schema_violation(value -> key, schema -> 'additionalProperties', inner_path);
            end if;
            if found is not null then return found; end if;
        end loop;
        count := (select count(*) from json_object_keys(value));
        if count < (schema ->> 'minProperties')::int or count > (schema ->> 'maxProperties')::int then
            return place || format('has %s fields', count);
        end if;
    elsif json_typeof(value) = 'array' then
        count := json_array_length(value);
        if json_typeof(schema -> 'items') = 'object' then
            for i in 0 .. count - 1 loop
                found := partita.schema_violation(value -> i, schema -> 'items', path || '.' || i);
                if found is not null then return found; end if;
            end loop;
        end if;
        if count < (schema ->> 'minItems')::int or count > (schema ->> 'maxItems')::int then
            return place || format('has %s elements', count);
        end if;
        if schema ->> 'uniqueItems' = 'true' and count
            <> (select count(distinct partita.comparable(e)) from json_array_elements(value) e)
        then
            return place || 'has an element twice';
        end if;
    elsif json_typeof(value) = 'string' then
        found := value #>> '{}';
        if length(found) < (schema ->> 'minLength')::int or length(found) > (schema ->> 'maxLength')::int then
            return place || format('has %s characters', length(found));
        end if;
        if not found ~ (schema ->> 'pattern') then
            return place || format('doesn''t match the pattern %s', schema ->> 'pattern');
        end if;
    else
        number := partita.bson_number(value);
        if number is not null then
            if number < partita.bson_number(schema -> 'minimum')
                or number = partita.bson_number(schema -> 'minimum') and schema ->> 'exclusiveMinimum' = 'true'
            then
                return place || 'is too small';
            end if;
            if number > partita.bson_number(schema -> 'maximum')
                or number = partita.bson_number(schema -> 'maximum') and schema ->> 'exclusiveMaximum' = 'true'
            then
                return place || 'is too large';
            end if;
            if number % partita.bson_number(schema -> 'multipleOf') <> 0 then
                return place || format('isn''t a multiple of %s', schema ->> 'multipleOf');
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

-- AFTER a row was written by another hand: fails the statement unless the document is what its collection's schema says.
create or replace function partita.check_schema() returns trigger language plpgsql as $$
declare
    wanted json;
    found text;
begin
    select s.schema into wanted from partita.collections c
    join partita.schemas s on s.app = c.app and s.database = c.database and s.collection = c.name
    where c.relation = tg_relid;
    if wanted is null then return null; end if;
    found := partita.schema_violation(partita.hide_nul(new.body::text), wanted, '');
    if found is not null then
        raise exception using errcode = '23514', message = found, schema = tg_table_schema, table = tg_table_name;
    end if;
    return null;
end $$;

-- Eight bytes that sort in the order of doubles, NaN first.
create or replace function partita.double_key(number float8) returns bytea language plpgsql immutable parallel safe as $$
begin
    if number = 'NaN' then return '\x0000000000000000'; end if;
    if number >= 0 then
        return int8send(('x' || encode(float8send(abs(number)), 'hex'))::bit(64)::bigint # (-9223372036854775807 - 1));
    end if;
    return int8send(~ ('x' || encode(float8send(number), 'hex'))::bit(64)::bigint);
end $$;

-- Up to 200 bytes are used unchanged; longer values become their first 180 bytes and a digest, which sort behind all regular keys.
create or replace function partita.bytes_key(regular bytea, irregular bytea, bytes bytea) returns bytea
language sql immutable parallel safe as $$
    select case when length(bytes) <= 200 then regular || bytes
        else irregular || substr(bytes, 1, 180) || decode(md5(bytes), 'hex') end
$$;

-- The key of a value in the form `document`, whose bytes sort as MongoDB sorts values: a byte for the type's rank, then the value.
-- Values without an exact key (long texts, fractional decimals, documents, arrays and rare types) sort behind f0.
create or replace function partita.value_key(value jsonb) returns bytea language plpgsql immutable parallel safe as $$
declare
    text_value text;
    number numeric;
begin
    if value is null then return '\x10'; end if;
    case jsonb_typeof(value)
    when 'string' then
        text_value := value #>> '{}';
        if octet_length(text_value) <= 200 then return '\x30'::bytea || convert_to(text_value, 'UTF8'); end if;
        return partita.bytes_key('\x30', '\xf2', convert_to(text_value, 'UTF8'));
    when 'number' then return '\x20'::bytea || partita.double_key(value::float8);
    when 'null' then return '\x10';
    when 'boolean' then return case when value::boolean then '\x7001'::bytea else '\x7000'::bytea end;
    when 'array' then return '\xff';
    else null;
    end case;
    text_value := value ->> '$date';
    if text_value is not null then
        if left(text_value, 1) = '{' then text_value := value #>> '{$date,$numberLong}'; end if;
        if text_value ~ '^-?[0-9]{1,19}$' then
            return '\x80'::bytea || int8send(text_value::bigint # (-9223372036854775807 - 1));
        end if;
        return '\xf4';
    end if;
    text_value := value ->> '$oid';
    if text_value ~ '^[0-9a-fA-F]{24}$' then return '\x60'::bytea || decode(text_value, 'hex'); end if;
    text_value := value #>> '{$binary,base64}';
    if text_value is not null and value #>> '{$binary,subType}' ~ '^[0-9a-fA-F]{2}$' then
        return partita.bytes_key(
            '\x50'::bytea || int4send(length(decode(text_value, 'base64'))) || decode(value #>> '{$binary,subType}', 'hex'),
            '\xf5', decode(text_value, 'base64'));
    end if;
    text_value := coalesce(value ->> '$numberDecimal', value ->> '$numberLong', value ->> '$numberDouble');
    if text_value ~ '^-?([0-9]*\.?[0-9]+([eE][-+]?[0-9]{1,4})?|NaN|Infinity)$' then
        number := text_value::numeric;
        if number = 'NaN' or abs(number) = 'Infinity' then return '\x20'::bytea || partita.double_key(number::float8); end if;
        -- The number is certainly equal to a double.
        if abs(number) <= 9007199254740992 and number = trunc(number)
            or abs(number) < 4294967296 and number * 1048576 = trunc(number * 1048576)
        then
            return '\x20'::bytea || partita.double_key(number::float8);
        end if;
        -- Other numbers use the nearest double.
        return '\xf1'::bytea || partita.double_key(
            case when abs(number) > 1.7976931348623157e308 then (sign(number)::text || 'e0')::float8 * 'Infinity'
                -- Half of the least double: what is smaller is next to zero.
                when abs(number) <= 2.4703282292062328e-324 then 0 else number::float8 end);
    end if;
    if value ? '$timestamp' then
        return '\x90'::bytea || int8send((value #>> '{$timestamp,t}')::bigint) || int8send((value #>> '{$timestamp,i}')::bigint);
    end if;
    if value ? '$undefined' then return '\xf0'; end if;
    if value ? '$minKey' then return '\x08'; end if;
    return '\xf4'::bytea || decode(md5(value::text), 'hex');
end $$;

-- The key of the value at a path; ff if there is an array at the path or along it.
create or replace function partita.index_key(document jsonb, path text[]) returns bytea language plpgsql immutable parallel safe as $$
declare
    value jsonb := document;
    step text;
begin
    foreach step in array path loop
        value := value -> step;
        if value is null then return '\x10'; end if;
        if jsonb_typeof(value) = 'array' then return '\xff'; end if;
    end loop;
    return partita.value_key(value);
end $$;

-- As index_key, for unique indexes, which refuse arrays and distinguish all numbers.
create or replace function partita.unique_key(document jsonb, path text[]) returns bytea language plpgsql immutable parallel safe as $$
declare
    key bytea := partita.index_key(document, path);
begin
    if key = '\xff' then
        raise exception using errcode = 'PT115', message = format(
            'unique indexes do not support array values: %s', array_to_string(path, '.')),
            column = array_to_string(path, '.');
    end if;
    if get_byte(key, 0) = 241 then
        return key || convert_to(left(trim_scale(coalesce(
            document #>> (path || array['$numberDecimal']), document #>> (path || array['$numberLong']))::numeric)::text, 180), 'UTF8');
    end if;
    return key;
end $$;

-- The keys of all values that a path leads to through arrays, including each element of a final array.
create or replace function partita.element_keys(value jsonb, path text[]) returns bytea[] language plpgsql immutable parallel safe as $$
declare
    keys bytea[] := '{}';
    element jsonb;
begin
    if cardinality(path) = 0 then
        if value is null or jsonb_typeof(value) <> 'array' then return array[partita.value_key(value)]; end if;
        for element in select e from jsonb_array_elements(value) e loop
            keys := keys || partita.value_key(element);
        end loop;
        return keys || '\xff'::bytea;
    end if;
    if jsonb_typeof(value) = 'array' then
        for element in select e from jsonb_array_elements(value) e loop
            if jsonb_typeof(element) <> 'array' then keys := keys || partita.element_keys(element, path);
            else keys := keys || '\x10'::bytea;
            end if;
        end loop;
        return case when cardinality(keys) = 0 then array['\x10'::bytea] else keys end;
    end if;
    return partita.element_keys(value -> path[1], path[2:]);
end $$;

-- The keys of the values that equal one of the elements of a JSON array. A number may have an exact or an inexact key.
create or replace function partita.value_keys(wanted jsonb) returns bytea[] language plpgsql immutable parallel safe as $$
declare
    key bytea;
    keys bytea[] := '{}';
begin
    for key in select partita.value_key(v) from jsonb_array_elements(wanted) v loop
        keys := keys || key;
        if get_byte(key, 0) in (32, 241) then
            keys := keys || case when get_byte(key, 0) = 32 then '\xf1'::bytea else '\x20'::bytea end || substr(key, 2);
        end if;
    end loop;
    return keys;
end $$;

-- A text with the capital letters of ASCII made small, and the two characters beyond it that are capitals of such letters or other
-- forms of them (U+212A of k, U+017F of s): what a regular expression finds if case doesn't count.
create or replace function partita.small_letters(value text) returns text language sql immutable parallel safe as $$
    select translate(lower(value collate "C"), U&'\212A\017F', 'ks')
$$;

-- The texts that a path leads to through arrays, in small letters, one behind the other; null if there is none. Trigrams of them find the
-- documents in which a regular expression may match. A text with U+0000 is in its escaped form. A regular expression, which is found by one that
-- equals it, is without its backslashes: then it contains what it demands.
create or replace function partita.texts(value jsonb, path text[]) returns text language plpgsql immutable parallel safe as $$
declare
    found text;
begin
    case jsonb_typeof(value)
    when 'string' then
        if cardinality(path) = 0 then return partita.small_letters(value #>> '{}'); end if;
    when 'object' then
        if cardinality(path) > 0 then return partita.texts(value -> path[1], path[2:]); end if;
        return partita.small_letters(
            coalesce(value ->> '$text', replace(value #>> '{$regularExpression,pattern}', '\', '')));
    when 'array' then
        select string_agg(partita.texts(e, path), E'\n') into found from jsonb_array_elements(value) e;
        return found;
    else null;
    end case;
    return null;
end $$;

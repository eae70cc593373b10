-- A name that fits into Postgres' 63 bytes: a longer one is cut and made unique by its digest.
create or replace function partita.identifier(name text) returns text language plpgsql immutable strict as $$
declare
    cut text := name;
begin
    if octet_length(name) <= 63 then return name; end if;
    while octet_length(cut) > 46 loop cut := left(cut, -1); end loop;
    return cut || '~' || left(md5(name), 16);
end $$;

-- The key text of a canonical Extended JSON value (DocumentModel: Value.keyText); null for a value that can't be a key.
create or replace function partita.key_text(value json) returns text language plpgsql immutable as $$
declare
    bytes text;
begin
    if value is null then return null; end if;
    if json_typeof(value) = 'string' then
        return case when octet_length(value #>> '{}') <= 1024 then 's:' || (value #>> '{}') end;
    end if;
    if json_typeof(value) <> 'object' then return null; end if;
    if value ->> '$oid' is not null then return 'o:' || lower(value ->> '$oid'); end if;
    if value ->> '$numberInt' is not null then return 'l:' || (value ->> '$numberInt')::bigint; end if;
    if value ->> '$numberLong' is not null then return 'l:' || (value ->> '$numberLong')::bigint; end if;
    if value #>> '{$binary,subType}' = '04' then
        bytes := encode(decode(value #>> '{$binary,base64}', 'base64'), 'hex');
        if length(bytes) = 32 then return 'u:' || bytes::uuid; end if;
    end if;
    return null;
end $$;

-- The internal partition of a document without a partition value: one of 16 of the collection, chosen by FNV-1a of the key text.
create or replace function partita.internal_partition(database text, collection text, id text) returns text
language plpgsql immutable as $$
declare
    bytes bytea := convert_to(id, 'UTF8');
    hash bigint := 2166136261;
begin
    for i in 0 .. length(bytes) - 1 loop
        hash := ((hash # get_byte(bytes, i)) * 16777619) & 4294967295;
    end loop;
    return 'i:' || database || '.' || collection || ':' || (hash & 15);
end $$;

-- The partition that a document belongs to (SyncEngine: AppStorage.partition).
create or replace function partita.partition_of(collection partita.collections, body json, id text) returns text
language plpgsql immutable as $$
declare
    value json := body -> collection.partition_key;
begin
    if collection.null_partition and collection.partition_key is not null and coalesce(json_typeof(value), 'null') = 'null' then
        return 'n:';
    end if;
    return coalesce(partita.key_text(value), partita.internal_partition(collection.database, collection.name, id));
end $$;

extension DocumentStoreMigrations {
    /// Keys that sort as MongoDB's values do, and the indexes of the collections.
    static let indexes = #"""
        -- The declared indexes. `specification` is MongoDB's; `relation` names the Postgres index in the table's schema, and
        -- `elements` its companion for arrays. One that isn't ready is being built, or its builder died.
        create table partita.indexes (
            app text collate "C" not null,
            database text collate "C" not null,
            collection text collate "C" not null,
            name text collate "C" not null,
            specification json not null,
            relation text not null,
            elements text,
            is_ready boolean not null default false,
            created_at timestamptz not null default now(),
            primary key (app, database, collection, name),
            foreign key (app, database, collection) references partita.collections (app, database, name) on delete cascade
        );

        -- Who does work of which there is one at a time; a holder that is late is recognised by its fence.
        create table partita.work_leases (
            name text collate "C" primary key,
            holder text not null,
            fence bigint not null,
            expires_at timestamptz not null
        );

        -- Eight bytes that sort as the doubles do, NaN first.
        create function partita.double_key(number float8) returns bytea language plpgsql immutable parallel safe as $$
        begin
            if number = 'NaN' then return '\x0000000000000000'; end if;
            if number >= 0 then
                return int8send(('x' || encode(float8send(abs(number)), 'hex'))::bit(64)::bigint # (-9223372036854775807 - 1));
            end if;
            return int8send(~ ('x' || encode(float8send(number), 'hex'))::bit(64)::bigint);
        end $$;

        -- 200 bytes at most as they are; more as their beginning and digest, behind all regular keys.
        create function partita.bytes_key(regular bytea, irregular bytea, bytes bytea) returns bytea
        language sql immutable parallel safe as $$
            select case when length(bytes) <= 200 then regular || bytes
                else irregular || substr(bytes, 1, 180) || decode(md5(bytes), 'hex') end
        $$;

        -- The key of a value of the form `document`, whose bytes sort as MongoDB sorts values: a byte for the type's rank, then
        -- the value. What has no exact key (long texts, fractional decimals, documents, arrays and rare types) sorts behind f0.
        create function partita.value_key(value jsonb) returns bytea language plpgsql immutable parallel safe as $$
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
                -- Surely the same number as a double.
                if abs(number) <= 9007199254740992 and number = trunc(number)
                    or abs(number) < 4294967296 and number * 1048576 = trunc(number * 1048576)
                then
                    return '\x20'::bytea || partita.double_key(number::float8);
                end if;
                -- Others with the nearest double.
                return '\xf1'::bytea || partita.double_key(
                    case when abs(number) > 1.7976931348623157e308 then (sign(number)::text || 'e0')::float8 * 'Infinity' else number::float8 end);
            end if;
            if value ? '$timestamp' then
                return '\x90'::bytea || int8send((value #>> '{$timestamp,t}')::bigint) || int8send((value #>> '{$timestamp,i}')::bigint);
            end if;
            if value ? '$undefined' then return '\xf0'; end if;
            if value ? '$minKey' then return '\x08'; end if;
            return '\xf4'::bytea || decode(md5(value::text), 'hex');
        end $$;

        -- The key of what stands at a path; ff where an array stands there or on the way.
        create function partita.index_key(document jsonb, path text[]) returns bytea language plpgsql immutable parallel safe as $$
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

        -- As index_key, for unique indexes, which take no arrays and tell all numbers apart.
        create function partita.unique_key(document jsonb, path text[]) returns bytea language plpgsql immutable parallel safe as $$
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
                    document #>> (path || '$numberDecimal'), document #>> (path || '$numberLong'))::numeric)::text, 180), 'UTF8');
            end if;
            return key;
        end $$;

        -- The keys of all that a path leads to through arrays, each element of a final array among them.
        create function partita.element_keys(value jsonb, path text[]) returns bytea[] language plpgsql immutable parallel safe as $$
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

        -- The keys of what equals one of the elements of a JSON array. A number may have an exact key or none.
        create function partita.value_keys(wanted jsonb) returns bytea[] language plpgsql immutable parallel safe as $$
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

        -- Lower case without accents.
        create function partita.folded(words text) returns text language plpgsql immutable parallel safe as $$
        begin
            if words is null or octet_length(words) = length(words) then return lower(words); end if;
            return lower(regexp_replace(normalize(words, nfkd), U&'[\0300-\036f]', '', 'g') collate "und-x-icu");
        end $$;

        -- The text search configuration of a language by MongoDB's name; `otherwise` for one that isn't known.
        create function partita.text_configuration(language text, otherwise text) returns regconfig
        language sql immutable parallel safe as $$
            select ('pg_catalog.' || case lower(language)
                when 'none' then 'simple' when 'da' then 'danish' when 'nl' then 'dutch' when 'en' then 'english'
                when 'fi' then 'finnish' when 'fr' then 'french' when 'de' then 'german' when 'hu' then 'hungarian'
                when 'it' then 'italian' when 'nb' then 'norwegian' when 'pt' then 'portuguese' when 'ro' then 'romanian'
                when 'ru' then 'russian' when 'es' then 'spanish' when 'sv' then 'swedish' when 'tr' then 'turkish'
                else case when lower(language) in (
                    'danish', 'dutch', 'english', 'finnish', 'french', 'german', 'hungarian', 'italian', 'norwegian',
                    'portuguese', 'romanian', 'russian', 'simple', 'spanish', 'swedish', 'turkish')
                    then lower(language) else otherwise end
                end)::regconfig
        $$;

        -- The words of a document: `fields` has the class of words by jsonpath, `override` the field that names the language.
        create function partita.text_vector(document jsonb, fields json, configuration text, override text) returns tsvector
        language plpgsql immutable parallel safe as $$
        declare
            words tsvector := '';
            language regconfig := partita.text_configuration(
                case when jsonb_typeof(document -> override) = 'string' then document ->> override end, configuration);
            field record;
            found jsonb;
        begin
            for field in select key, value from json_each_text(fields) loop
                for found in select v from jsonb_path_query(document, field.key::jsonpath) v where jsonb_typeof(v) = 'string' loop
                    words := words || setweight(to_tsvector(language, partita.folded(found #>> '{}')), field.value::"char");
                end loop;
            end loop;
            return words;
        end $$;

        -- Whether a term occurs in its own case or with its own accents. Its stem tells how much of it has to.
        create function partita.text_has(
            document jsonb, fields json, configuration regconfig, term text, by_case boolean, by_accents boolean
        ) returns boolean language plpgsql immutable parallel safe as $$
        declare
            field text;
            found text;
            word text;
            stem text;
            shared int;
            pattern text;
        begin
            for word in select w from regexp_split_to_table(term, '[^[:alnum:]]+') w where w <> '' loop
                stem := (tsvector_to_array(to_tsvector(configuration, partita.folded(word))))[1];
                continue when stem is null;
                shared := 0;
                while shared < least(length(stem), length(word))
                    and left(stem, shared + 1) = left(partita.folded(word), shared + 1)
                loop
                    shared := shared + 1;
                end loop;
                pattern := coalesce(pattern || '.*', '') || '\m' || left(word, shared);
            end loop;
            if pattern is null then return false; end if;
            if not by_accents then pattern := regexp_replace(normalize(pattern, nfkd), U&'[\0300-\036f]', '', 'g'); end if;
            for field in select json_object_keys(fields) loop
                for found in select v #>> '{}' from jsonb_path_query(document, field::jsonpath) v loop
                    if not by_accents then found := regexp_replace(normalize(found, nfkd), U&'[\0300-\036f]', '', 'g'); end if;
                    if by_case and found ~ pattern or not by_case and found ~* pattern then return true; end if;
                end loop;
            end loop;
            return false;
        end $$;

        -- All texts of a document, or those at some paths.
        create function partita.search_texts(document jsonb, paths jsonpath[]) returns setof text
        language sql immutable parallel safe as $$
            select v #>> '{}' from unnest(paths) p, lateral jsonb_path_query(document, p) v where jsonb_typeof(v) = 'string'
        $$;

        -- Their words, as they are written but for case and accents.
        create function partita.search_vector(document jsonb, paths jsonpath[]) returns tsvector
        language plpgsql immutable parallel safe as $$
        declare
            words tsvector := '';
            found text;
        begin
            for found in select partita.search_texts(document, paths) loop
                words := words || to_tsvector('pg_catalog.simple'::regconfig, partita.folded(found));
            end loop;
            return words;
        end $$;
        """#
}

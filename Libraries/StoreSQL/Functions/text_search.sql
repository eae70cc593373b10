-- The words in lower case without accents.
create or replace function partita.folded(words text) returns text language plpgsql immutable parallel safe as $$
begin
    if words is null or octet_length(words) = length(words) then return lower(words); end if;
    return lower(regexp_replace(normalize(words, nfkd), U&'[\0300-\036f]', '', 'g') collate "und-x-icu");
end $$;

-- The text search configuration of a language, given by MongoDB's name; `otherwise` for an unknown language.
create or replace function partita.text_configuration(language text, otherwise text) returns regconfig
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

-- The words of a document: `fields` has the class of words by jsonpath, `override` is the field that names the language.
create or replace function partita.text_vector(document jsonb, fields json, configuration text, override text) returns tsvector
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

-- Whether a term occurs with the same case (`by_case`) and the same accents (`by_accents`). Only the part of each word that it
-- shares with its stem has to occur.
create or replace function partita.text_has(
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

-- The texts of a document at some paths.
create or replace function partita.search_texts(document jsonb, paths jsonpath[]) returns setof text
language sql immutable parallel safe as $$
    select v #>> '{}' from unnest(paths) p, lateral jsonb_path_query(document, p) v where jsonb_typeof(v) = 'string'
$$;

-- A number of a document as a double that can be calculated with: no sum or quotient of two of them is out of range.
create or replace function partita.search_number(value numeric) returns float8
language sql immutable strict parallel safe as $$
    select case when abs(value) < 1e-100 then 0 else least(greatest(value, -1e150), 1e150) end::float8
$$;

-- The words of a text in lower case and without accents, separated by blanks. Everything but letters, digits and marks separates words;
-- Postgres' parser would take `input/output`, `ann@example.com`, `3.14` and `“hello”` for one each. Marks are those of the scripts of the
-- Near East and of South and South-East Asia.
create or replace function partita.search_words(words text) returns text language plpgsql immutable parallel safe as $$
begin
    if words is null or octet_length(words) = length(words) then
        return translate(lower(words), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32));
    end if;
    return regexp_replace(
        partita.folded(words) collate "und-x-icu",
        U&'[^[:alnum:]\0591-\05c7\0610-\061a\064b-\0670\06d6-\06ed\0900-\0963\0966-\109f\1780-\17d3]+', ' ', 'g');
end $$;

-- The words of a document's texts at some paths, unstemmed, in lower case and without accents. Of a long text, and of all texts
-- together, only as much as a tsvector can hold: a document that has more must not make each search of the collection fail.
create or replace function partita.search_vector(document jsonb, paths jsonpath[]) returns tsvector
language plpgsql immutable parallel safe as $$
declare
    words tsvector := '';
    part tsvector;
    found text;
begin
    for found in select partita.search_texts(document, paths) loop
        part := to_tsvector('pg_catalog.simple'::regconfig, partita.search_words(left(found, 200000)));
        exit when pg_column_size(words) + pg_column_size(part) > 1000000;
        words := words || part;
    end loop;
    return words;
end $$;

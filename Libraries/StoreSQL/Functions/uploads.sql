-- Fails with PT409 unless the expected number of rows was written: otherwise a concurrent writer was faster.
create or replace function partita.require_count(written bigint, meant bigint) returns void language plpgsql as $$
begin
    if written <> meant then
        raise exception using errcode = 'PT409', message = 'another writer changed the rows concurrently';
    end if;
end $$;

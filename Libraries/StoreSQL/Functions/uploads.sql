-- Fails with PT409 unless as many rows were written as were meant: somebody else was faster.
create or replace function partita.require_count(written bigint, meant bigint) returns void language plpgsql as $$
begin
    if written <> meant then
        raise exception using errcode = 'PT409', message = 'somebody else wrote meanwhile';
    end if;
end $$;

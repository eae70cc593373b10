-- Records calls of a trigger's run in the transaction of its write, the last of them. Fails with PT410 if another worker has made this
-- write or has ended the run.
create function partita.record_trigger_write(
    app text, trigger text, event text, ordinals bigint[], digests text[], results text[], consumer text, run text
) returns void language plpgsql as $$
declare
    is_new boolean;
begin
    with made as (
        insert into partita.trigger_journal (app, trigger, event, ordinal, digest, result)
        select $1, $2, $3, e.* from unnest(ordinals, digests, results) e
        on conflict do nothing
        returning ordinal)
    select exists (select from made where ordinal = ordinals[cardinality(ordinals)]) into is_new;
    -- The end of a run deletes its entries. So a run that has ended is looked for after the insertion, by a statement that sees what had
    -- committed until then: an end that commits later finds this entry, and the write that it belongs to.
    if not is_new or exists (
        select from partita.handled_event_ids h where h.consumer = $7 and h.event_id = run)
    then
        raise exception using errcode = 'PT410', message = 'another worker has run the trigger for the event';
    end if;
end $$;

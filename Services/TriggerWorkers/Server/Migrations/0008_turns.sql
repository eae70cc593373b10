-- Fails with PT410 unless a lease has the fence that its holder knows. With `is_locked` it stays so until the transaction ends. One that has
-- expired, but that nobody has taken since, is as good: nothing was written in another turn.
create function partita.require_turn(work text, at_holder text, at_fence bigint, is_locked boolean) returns void language plpgsql as $$
begin
    if is_locked then
        perform from partita.work_leases l where l.name = work and l.place = 0 and l.holder = at_holder and l.fence = at_fence for share;
    else
        perform from partita.work_leases l where l.name = work and l.place = 0 and l.holder = at_holder and l.fence = at_fence;
    end if;
    if not found then
        raise exception using errcode = 'PT410', message = 'another worker has the turn';
    end if;
end $$;

-- Stores the claims of a user who asks for a partition, and commits the answer, for a pair that has no grant: `partita.commit_grant` in one
-- round trip and one transaction. Returns no row if there is a grant, or the user is blocked.
--
-- Nobody finds the subject before the answer is committed. So who blocks a user waits for `partita.lock_first_grants`, and finds it then.
--
-- Locks are taken in this order: the user's first grants, partition, subject, grant.
create function partita.first_grant(
    for_app text, for_partition text, for_user text, new_claims text, new_access text, new_reason text, lifetime float8,
    new_rules bigint, new_secrets bigint, shut_out_reason text
) returns table (
    granted_access text, granted_epoch int, granted_version bigint, granted_reason text, granted_until bigint, needs_fence boolean
) language plpgsql as $$
declare
    subject_life bigint;
begin
    perform partita.lock_first_grants(for_app, for_user, false);
    perform from partita.partitions p where p.app = for_app and p.partition = for_partition for update;
    insert into partita.grant_subjects as s (app, partition, user_id, claims)
        values (for_app, for_partition, for_user, new_claims)
        on conflict (app, partition, user_id) do update set claims = excluded.claims, asked_at = now()
        returning s.life into subject_life;
    return query select * from partita.commit_grant(
        for_app, for_partition, for_user, null, null, subject_life, new_access, new_reason, lifetime, new_rules, new_secrets,
        shut_out_reason);
end $$;

-- Until the transaction ends, first grants of the user are committed by those who share the lock, or by nobody.
create function partita.lock_first_grants(for_app text, for_user text, is_exclusive boolean) returns void language plpgsql as $$
declare
    key constant bigint := hashtextextended('partita.first_grants ' || for_app || ' ' || for_user, 0);
begin
    if is_exclusive then
        perform pg_advisory_xact_lock(key);
    else
        perform pg_advisory_xact_lock_shared(key);
    end if;
end $$;

-- Commits a decision under the partition's lock, in one round trip: a concurrent upload is either committed as a whole before it, or checked
-- against it. The row in the outbox ensures that it is published, and a revocation gets a fence. Returns no row if the decision's basis
-- isn't current any more.
--
-- The basis is the grant of `basis_epoch` and `basis_version`; or, with `basis_life`, no grant, and a subject with this life; or, with none
-- of the three, any existing grant. `lifetime` is the number of seconds for which the answer is valid, null for no limit.
--
-- Locks are taken in this order: partition, subject, grant.
create or replace function partita.commit_grant(
    for_app text, for_partition text, for_user text, basis_epoch bigint, basis_version bigint, basis_life bigint,
    new_access text, new_reason text, lifetime float8, new_rules bigint, new_secrets bigint, shut_out_reason text
) returns table (
    granted_access text, granted_epoch int, granted_version bigint, granted_reason text, granted_until bigint, needs_fence boolean
) language plpgsql as $$
declare
    former partita.grants;
    is_shut_out boolean;
begin
    perform from partita.partitions p where p.app = for_app and p.partition = for_partition for update;
    perform from partita.grant_subjects s
        where s.app = for_app and s.partition = for_partition and s.user_id = for_user for no key update;
    if basis_life is not null then
        perform from partita.grant_subjects s
            where s.app = for_app and s.partition = for_partition and s.user_id = for_user and s.life = basis_life for update;
        if not found then return; end if;
    end if;
    select * into former from partita.grants g
        where g.app = for_app and g.partition = for_partition and g.user_id = for_user for update;
    if found <> (basis_life is null) then return; end if;
    if basis_version is not null and (former.epoch, former.version) is distinct from (basis_epoch::int, basis_version) then return; end if;
    -- Without a subject no change would decide it again: the question has to be asked again.
    if new_access <> 'none' and not exists (
        select from partita.grant_subjects s where s.app = for_app and s.partition = for_partition and s.user_id = for_user)
    then return; end if;

    is_shut_out := exists (select from partita.shut_out_users u where u.app = for_app and u.user_id = for_user);
    -- The user was enabled meanwhile.
    if new_reason = shut_out_reason and not is_shut_out then return; end if;
    -- A first answer to a blocked user isn't stored.
    if is_shut_out and basis_life is not null then return; end if;

    -- Version numbers are never reused, even after a grant without access was removed.
    return query
        insert into partita.grants as g (app, partition, user_id, access, epoch, version, reason, expires_at, rules, secrets)
        values (
            for_app, for_partition, for_user, case when is_shut_out then 'none' else new_access end, partita.current_epoch(),
            nextval('partita.grant_versions'), to_json(case when is_shut_out then shut_out_reason else new_reason end),
            clock_timestamp() + make_interval(secs => lifetime), new_rules, new_secrets)
        on conflict (app, partition, user_id) do update set
            access = excluded.access, epoch = excluded.epoch, reason = excluded.reason, decided_at = clock_timestamp(),
            version = case when g.epoch = excluded.epoch then greatest(g.version + 1, excluded.version) else excluded.version end,
            expires_at = excluded.expires_at, rules = excluded.rules, secrets = excluded.secrets,
            -- One that had ended, because nobody used it for instance, was asked for.
            used_on = case when g.expires_at < clock_timestamp() then current_date else g.used_on end
        where basis_life is null
        returning g.access, g.epoch, g.version, g.reason #>> '{}', (extract(epoch from g.expires_at) * 1000)::bigint,
            g.access = 'none' and coalesce(former.access <> 'none', false);
    if not found then return; end if;

    insert into partita.fences (app, partition, user_id, epoch, version)
        select g.app, g.partition, g.user_id, g.epoch, g.version from partita.grants g
        where g.app = for_app and g.partition = for_partition and g.user_id = for_user and g.access = 'none'
            and former.access <> 'none';
    -- The question was answered.
    update partita.grant_subjects s set is_decided = true
        where s.app = for_app and s.partition = for_partition and s.user_id = for_user;
    insert into partita.grant_outbox as o (app, partition, user_id, epoch, version)
        select g.app, g.partition, g.user_id, g.epoch, g.version from partita.grants g
        where g.app = for_app and g.partition = for_partition and g.user_id = for_user
        on conflict (app, partition, user_id) do update set epoch = excluded.epoch, version = excluded.version
        where (o.epoch, o.version) < (excluded.epoch, excluded.version);
end $$;

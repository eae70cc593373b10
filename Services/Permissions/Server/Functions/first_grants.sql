-- Stores the claims of users who ask for partitions, and commits the answers, for pairs that have no grant: `partita.commit_grant` for many
-- questions in one round trip and one transaction, so many users who open a partition for the first time cost a commit together. Returns
-- the places of the questions that were answered, from 1; there is a grant for the others, or their user is blocked.
--
-- Nobody finds a subject before its answer is committed. So who blocks a user waits for `partita.lock_first_grants`, and finds it then.
--
-- Locks are taken in this order: the users' first grants, partitions, subjects, grants; each kind in the order of its keys.
create or replace function partita.first_grants(
    for_apps text[], for_partitions text[], for_users text[], new_claims text[], new_accesses text[], new_reasons text[],
    lifetimes bigint[], new_rules bigint[], new_secrets bigint[]
) returns table (place bigint, granted_access text, granted_epoch int, granted_version bigint, granted_reason text, granted_until bigint)
language plpgsql as $$
begin
    perform partita.lock_first_grants(q.app, q.user_id, false)
        from (select distinct * from unnest(for_apps, for_users)) q(app, user_id);
    perform from partita.partitions p
        where (p.app, p.partition) in (select * from unnest(for_apps, for_partitions))
        order by p.app, p.partition for update;
    insert into partita.grant_subjects as s (app, partition, user_id, claims)
        select distinct on (q.app collate "C", q.partition collate "C", q.user_id collate "C") q.*
        from unnest(for_apps, for_partitions, for_users, new_claims) q(app, partition, user_id, claims)
        order by q.app collate "C", q.partition collate "C", q.user_id collate "C"
        on conflict (app, partition, user_id) do update set claims = excluded.claims, asked_at = now();
    return query
        with question as (
            select distinct on (q.app collate "C", q.partition collate "C", q.user_id collate "C") q.*
            from unnest(
                for_apps, for_partitions, for_users, new_accesses, new_reasons, lifetimes, new_rules, new_secrets
            ) with ordinality q(app, partition, user_id, access, reason, lifetime, rules, secrets, place)
            where not exists (select from partita.shut_out_users u where u.app = q.app and u.user_id = q.user_id)
            order by q.app collate "C", q.partition collate "C", q.user_id collate "C", q.place
        ), granted as (
            insert into partita.grants as g (app, partition, user_id, access, epoch, version, reason, expires_at, rules, secrets)
            select q.app, q.partition, q.user_id, q.access, partita.current_epoch(), nextval('partita.grant_versions'), to_json(q.reason),
                clock_timestamp() + make_interval(secs => q.lifetime), q.rules, q.secrets
            from question q
            on conflict do nothing
            returning g.*
        ), decided as (
            update partita.grant_subjects s set is_decided = true from granted g
            where s.app = g.app and s.partition = g.partition and s.user_id = g.user_id
        ), announced as (
            insert into partita.grant_outbox as o (app, partition, user_id, epoch, version)
            select g.app, g.partition, g.user_id, g.epoch, g.version from granted g
            on conflict (app, partition, user_id) do update set epoch = excluded.epoch, version = excluded.version
            where (o.epoch, o.version) < (excluded.epoch, excluded.version)
        )
        select q.place, g.access, g.epoch, g.version, g.reason #>> '{}', (extract(epoch from g.expires_at) * 1000)::bigint
        from granted g join question q on q.app = g.app and q.partition = g.partition and q.user_id = g.user_id;
end $$;

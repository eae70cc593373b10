-- The grant that applies to a user in a partition now: the user's own takes precedence over the one for all users, which gives a blocked
-- user nothing, and expired ones don't count. Returns no row if there is none. Only this function decides which grant applies; a grant
-- changes only under the lock of its partition's row.
create or replace function partita.standing_grant(for_app text, for_partition text, for_user text) returns setof partita.grants
language sql stable rows 1 as $$
    select g.* from partita.grants g
    where g.app = for_app and g.partition = for_partition and g.user_id in (for_user, '*')
        and (g.expires_at is null or g.expires_at > clock_timestamp())
        and (g.user_id <> '*' or not exists (
            select from partita.shut_out_users u where u.app = for_app and u.user_id = for_user))
    order by g.user_id = '*' limit 1
$$;

-- Whether a user may write a partition now; null if nobody knows: the user's grant has expired, and the question for another one isn't
-- answered yet. One row, since the planner makes functions that return rows a part of the statement, and plans others for each call.
create or replace function partita.may_write(for_app text, for_partition text, for_user text) returns setof boolean
language sql stable rows 1 as $$
    select coalesce(
        (select g.access = 'write' from partita.standing_grant(for_app, for_partition, for_user) g),
        case when not exists (
            select from partita.grants g
            where g.app = for_app and g.partition = for_partition and g.user_id = for_user
                and g.access <> 'none' and g.expires_at is not null)
        then false end)
$$;

-- Fails with PT403 unless each user may write the partition at the same index. Must be called under the partitions' locks.
--
-- A decision locks the partition's row, which doesn't exist before the first change. Then it has locked the grant alone; so this
-- transaction, which has inserted the row, waits for the grant.
--
-- `counts` has the number of revisions that this transaction takes in the partition at the same index.
create or replace function partita.require_write(app_id text, partitions text[], users text[], counts bigint[]) returns void
language plpgsql as $$
begin
    perform from unnest(partitions, users, counts) k(partition, user_id, count)
    join partita.partitions p on p.app = app_id and p.partition = k.partition and p.head = k.count
    join partita.grants g on g.app = app_id and g.partition = k.partition and g.user_id in (k.user_id, '*')
    order by g.partition, g.user_id for share of g;
    if exists (
        select from unnest(partitions, users) k(partition, user_id)
        cross join lateral partita.may_write(app_id, k.partition, k.user_id) may_write
        where may_write is not true)
    then
        raise exception using errcode = 'PT403', message = 'a grant was revoked, or has expired, concurrently';
    end if;
end $$;

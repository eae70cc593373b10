-- Another one each time that the subject is forgotten and asks again: a decision that began before finds it gone.
alter table partita.grant_subjects add column life bigint generated always as identity;
-- Whether a grant has followed: what is left of a question whose decision ended with its process is found by it.
alter table partita.grant_subjects add column is_decided boolean not null default false;
update partita.grant_subjects s set is_decided = true where exists (
    select from partita.grants g where (g.app, g.partition, g.user_id) = (s.app, s.partition, s.user_id));
create index grant_subjects_undecided on partita.grant_subjects (asked_at) where not is_decided;
-- Grants that gave nothing are removed: the numbers of those that follow have to be higher. Those before were counted by pair.
create sequence partita.grant_versions start 1000001;
create index grants_of_none on partita.grants (decided_at) where access = 'none';

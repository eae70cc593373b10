-- The newest version that the topic may not have. Without it, who had published an older one could delete the row of a grant that was being
-- committed, and the topic would never get that grant if its process ended then. A row without a grant is a grant that was removed, and has
-- to be removed from the topic.
alter table partita.grant_outbox add column epoch int not null default 0, add column version bigint not null default 0;
create index grants_by_use on partita.grants (used_on) where access <> 'none' and expires_at is null;

-- What was stored before may be lost: the store was accepted all the same.
alter table partita.media_store add column adopted_at timestamptz not null default now();

-- When a dead letter was replayed first: only then the record is deleted that its event was handled.
alter table partita.trigger_failures add column replay_begun_at timestamptz;

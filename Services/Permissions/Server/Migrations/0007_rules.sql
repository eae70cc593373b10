-- The version of the app that the answer was last decided with: after a deployment, or a restart, only answers of another one are asked
-- for again. Null: not known.
alter table partita.grant_subjects add column rules bigint;

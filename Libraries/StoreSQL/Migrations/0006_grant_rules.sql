-- The versions of the app and of its secrets with which a grant was decided: one of other rules is no answer to who asks anew. Null: not
-- known.
alter table partita.grants add column rules bigint, add column secrets bigint;

-- Which runs of triggers led to the change: `{event, triggers: [{name, runs}]}`; null if no trigger wrote it. A transaction says it once for all
-- of its changes.
alter table partita.changes add column trigger_chain text;
alter table partita.changes alter column trigger_chain
    set default nullif(current_setting('partita.trigger_chain', true), '');

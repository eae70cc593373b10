-- The triggers on the tables that every database has. Those on a collection's table are created with it
-- (partita.ensure_collection).
create or replace trigger note_epoch_end after update on partita.partitions
    for each row when (old.epoch <> new.epoch) execute function partita.note_epoch_end();

-- A constraint trigger can't be replaced.
drop trigger if exists number_pending on partita.pending_commits;
create constraint trigger number_pending after insert on partita.pending_commits
    deferrable initially deferred for each row execute function partita.number_pending();

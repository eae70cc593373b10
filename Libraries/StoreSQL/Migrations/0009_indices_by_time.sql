-- Each relay reads the changes of the last seconds once a second. A BRIN index knows nothing of the newest pages before autovacuum has
-- summarized them, so that the read took time in proportion to what was written since.
drop index partita.changes_wall_time;
create index changes_wall_time on partita.changes (wall_time);

-- What is dropped by age.
create index tombstones_by_time on partita.tombstones (deleted_at);
create index upload_outcomes_by_time on partita.upload_outcomes (created_at);

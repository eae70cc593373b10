-- The dead letters of an app that wait for an operator, the latest of which are kept.
create index trigger_failures_waiting on partita.trigger_failures (app, id) where replayed_at is null;

-- What is deleted by its age is found by it.
create index function_logs_by_age on partita.function_logs (at);
create index trigger_missed_events_by_age on partita.trigger_missed_events (missed_at);
create index trigger_failures_replayed on partita.trigger_failures (replayed_at) where replayed_at is not null;

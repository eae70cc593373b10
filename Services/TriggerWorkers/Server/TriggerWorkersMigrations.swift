import Postgres

/// The tables that the trigger workers own.
enum TriggerWorkersMigrations {
    static let all = Migrations(
        owner: "trigger-workers",
        files: [
            (1, "triggers", PackageResources._001_triggers_sql),
            (2, "moments", PackageResources._002_moments_sql),
            (3, "presence", PackageResources._003_presence_sql),
            (4, "presence-unwritten", PackageResources._004_presence_unwritten_sql),
            (5, "missed-events", PackageResources._005_missed_events_sql),
            (6, "journal-writes", PackageResources._006_journal_writes_sql),
            (7, "replays", PackageResources._007_replays_sql),
            (8, "turns", PackageResources._008_turns_sql),
            (9, "ages", PackageResources._009_ages_sql),
            (10, "waiting-failures", PackageResources._010_waiting_failures_sql),
        ])
}

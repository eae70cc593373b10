import Metrics

/// The metrics of the trigger workers.
enum TriggerMetrics {
    static let runs = MetricFamily<Counter>(
        label: "trigger_worker_runs_total", help: "Runs of triggers' functions, by outcome.", dimensions: ["outcome"])
    static let deadLetters = Counter(label: "trigger_worker_dead_letters_total", help: "Dead-lettered events.")
    static let droppedDeadLetters = Counter(
        label: "trigger_worker_dropped_dead_letters_total",
        help: "Dead letters that nobody replayed or discarded, and that were dropped since their app had too many.")
    static let throttledCalls = Counter(
        label: "trigger_worker_throttled_calls_total", help: "Calls of endpoints and webhooks beyond a limit a minute.")
    static let watches = Gauge(label: "trigger_worker_watches", help: "Streams of changes (watch) that are open.")
    static let watchEvents = Counter(
        label: "trigger_worker_watch_events_total", help: "Changes that were sent to streams of changes.")
    static let watchEnds = MetricFamily<Counter>(
        label: "trigger_worker_watch_ends_total", help: "Streams of changes that ended, by reason.",
        dimensions: ["reason"])
    static let watchedBytes = Gauge(
        label: "trigger_worker_watch_waiting_bytes", help: "Bytes of the changes that wait for streams.")
    static let throttleFailures = Counter(
        label: "trigger_worker_throttle_failures_total",
        help: "Calls of endpoints and webhooks that Redis couldn't count.")
    static let expirations = Counter(
        label: "trigger_worker_presence_expirations_total", help: "Devices whose presence lease ran out.")
    static let presenceWithoutDocument = Counter(
        label: "trigger_worker_presence_without_document_total",
        help: "Presence flips of users that have no document to write them to.")
    static let presenceRefused = Counter(
        label: "trigger_worker_presence_refused_total",
        help: "Presence flips that the user's document doesn't admit.")
}

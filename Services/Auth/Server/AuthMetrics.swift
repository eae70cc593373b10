import Metrics

/// The metrics of auth.
struct AuthMetrics: Sendable {
    /// Sign-ins by provider and outcome (`ok`, or the error's code).
    let signIns = MetricFamily<Counter>(
        label: "auth_sign_ins_total", help: "Sign-ins.", dimensions: ["provider", "outcome"])
    /// Refreshed sessions by outcome.
    let refreshes = MetricFamily<Counter>(
        label: "auth_session_refreshes_total", help: "Refreshed sessions.", dimensions: ["outcome"])
    /// Registrations by outcome.
    let registrations = MetricFamily<Counter>(
        label: "auth_registrations_total", help: "Registrations.", dimensions: ["outcome"])
    /// Calls that were refused with `Retry-After`.
    let throttled = Counter(label: "auth_throttled_total", help: "Calls that were refused with Retry-After.")
    /// Attempts that couldn't be counted because Redis was away.
    let throttleFailures = Counter(label: "auth_throttle_failures_total", help: "Attempts that Redis couldn't count.")
    /// Refused calls of the administration API that aren't in the audit log, by the reason: `token` (none that exists was shown), `budget`
    /// (the token's records of this minute are used up), `failure` (Postgres is away).
    let unrecorded = MetricFamily<Counter>(
        label: "auth_admin_unrecorded_total", help: "Refused administration calls that aren't in the audit log.",
        dimensions: ["reason"])
    /// Time for hashing or verifying a password, waiting included.
    let passwordSeconds = Timer(label: "auth_password_seconds", help: "Time for a password, waiting included.")
    /// Passwords that were refused because too many wait.
    let passwordsRefused = Counter(
        label: "auth_passwords_refused_total", help: "Passwords not taken because too many wait.")
    /// Mails by outcome: `sent`, `refused` (the mail server doesn't take the address), `failed` (it can't be sent now).
    let mails = MetricFamily<Counter>(label: "auth_mails_total", help: "Mails.", dimensions: ["outcome"])
    /// Deleted accounts that nobody used, by kind: `anonymous`, or `pending` for registrations that nobody confirmed.
    let idleAccounts = MetricFamily<Counter>(
        label: "auth_idle_accounts_deleted_total", help: "Accounts that were deleted since nobody used them.",
        dimensions: ["kind"])
    /// Age of the oldest event that isn't published, in seconds.
    let outboxAge = Gauge(label: "auth_outbox_oldest_seconds", help: "Age of the oldest event that hasn't left.")
    /// Published events.
    let relayed = Counter(label: "auth_events_relayed_total", help: "Published events.")
}

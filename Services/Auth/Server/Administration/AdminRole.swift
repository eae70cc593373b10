/// What a token of the administration API admits to.
public enum AdminRole: String, CaseIterable, Sendable {
    /// Deploying, comparing, rolling back, exporting and removing apps.
    case deploy
    /// Users and their sessions, and explanations of their access.
    case users
    /// The names of secrets, setting and removing them.
    case secrets
    /// The state of triggers, pausing and resuming them.
    case triggers
    /// Everything that can be read, including the audit log, except all data of one user.
    case readOnly = "read-only"
}

import DocumentModel
import HTTPServer

/// Why a stream of changes ends. The client gets it as the event `error`, with which its SDK ends the loop over `watch`.
struct WatchEnd: Error, Sendable {
    /// The name in the metrics.
    let reason: String
    /// The `error_code`.
    let code: String
    /// The message for people.
    let message: String

    /// Whether the client can't continue where it has ended.
    var losesChanges: Bool { code == Self.historyLost }

    private static let historyLost = "ChangeStreamHistoryLost"

    private init(_ reason: String, _ code: String, _ message: String) {
        self.reason = reason
        self.code = code
        self.message = message
    }

    /// The error of a call that found out something about the stream's user, rules or filter.
    init(_ reason: String, _ error: HTTPError) { self.init(reason, error.code, error.message) }

    static let expired = WatchEnd(
        "expired", "InvalidSession", "the access token has expired: watch again with a new one")
    static let disabled = WatchEnd("shut-out", "UserDisabled", "user disabled")
    static let deleted = WatchEnd("shut-out", "InvalidSession", "the account is deleted")
    static let signedOut = WatchEnd("shut-out", "InvalidSession", "the session has ended")
    static let deployed = WatchEnd(
        "deployed", "MaintenanceInProgress", "a new version of the app is deployed: watch again")
    static let removed = WatchEnd("removed", "AppNotFound", "the app is removed")
    static let stopping = WatchEnd("stopping", "MaintenanceInProgress", "the server is stopping: watch again")
    static let slow = WatchEnd(
        "slow", "ReadSizeLimitExceeded",
        "the client reads more slowly than changes come: read the collection, and watch again")
    static let crowded = WatchEnd(
        "crowded", "ReadSizeLimitExceeded",
        "too many changes wait for clients, most of them for this one: read the collection, and watch again")
    static let lost = WatchEnd(
        "lost", historyLost, "changes may be missing: read the collection, and watch again")
    static let late = WatchEnd(
        "late", historyLost,
        "too many changes came since the one to resume after: read the collection, and watch again")
    static let unreadable = WatchEnd(
        "failed", "ServiceUnavailable", "changes can't be read at the moment: watch again later")
    static let restored = WatchEnd(
        "restored", historyLost, "the database was restored: read the collection, and watch again")
    /// Nobody gets it.
    static let left = WatchEnd("left", "", "the client has left")
}

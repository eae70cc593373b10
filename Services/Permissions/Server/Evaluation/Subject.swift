import DocumentModel
import EventTopics

/// Who wants to open what: what a decision is about.
struct Subject: Hashable, Sendable {
    @ExactText var app: String
    /// The user's id.
    @ExactText var user: String
    let partition: Partition

    /// The key of its requests and grants.
    var key: String { GrantsEvent.key(app: app, user: user, partition: partition) }
}

import DocumentModel
import EventTopics

/// The subject of a decision: a user and the partition that the user wants to open.
struct Subject: Hashable, Sendable {
    @ExactText var app: String
    /// The user's id.
    @ExactText var user: String
    let partition: Partition

    /// The message key of the subject's requests and grants.
    var key: String { GrantsEvent.key(app: app, user: user, partition: partition) }
}

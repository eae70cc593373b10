import DocumentModel
import EventTopics

/// The subject of a decision: a user and the partition that the user wants to open.
package struct Subject: Hashable, Sendable {
    @ExactText package var app: String
    /// The user's id.
    @ExactText package var user: String
    package let partition: Partition

    package init(app: String, user: String, partition: Partition) {
        self.app = app
        self.user = user
        self.partition = partition
    }

    /// All users together, in the same partition.
    var everyone: Subject { Subject(app: app, user: EventKey.everyone, partition: partition) }

    /// Whether it stands for all users.
    var isEveryone: Bool { user.hasSameBytes(as: EventKey.everyone) }

    /// The message key of the subject's requests and grants.
    var key: String { GrantsEvent.key(app: app, user: user, partition: partition) }
}

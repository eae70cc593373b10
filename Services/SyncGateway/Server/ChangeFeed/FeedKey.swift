import DocumentModel
import EventTopics

/// A partition of an app, as the key of its messages in `document-changes`.
struct FeedKey: Hashable, Sendable {
    @ExactText private(set) var app: String
    let partition: Partition

    /// The message key's bytes: messages are looked up without making a string of them.
    var bytes: [UInt8] { Array(DocumentChangesEvent.key(app: app, partition: partition).utf8) }
}

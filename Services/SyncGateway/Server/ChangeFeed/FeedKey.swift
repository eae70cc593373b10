import DocumentModel
import EventTopics

/// A partition of an app, as the key of its messages in `document-changes`.
struct FeedKey: Hashable, Sendable {
    @ExactText private(set) var app: String
    let partition: Partition

    /// The bytes of the message key, by which messages are looked up without creating a string.
    var bytes: [UInt8] { Array(DocumentChangesEvent.key(app: app, partition: partition).utf8) }
}

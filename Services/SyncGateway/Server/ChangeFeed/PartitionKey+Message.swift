import DocumentModel
import EventTopics

extension PartitionKey {
    /// The key of its messages in `document-changes`, by which messages are looked up without creating a string.
    var messageKey: [UInt8] { Array(DocumentChangesEvent.key(app: app, partition: partition).utf8) }
}

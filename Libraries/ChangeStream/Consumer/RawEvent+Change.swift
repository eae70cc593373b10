public import DocumentModel
public import EventStream
public import EventTopics
import Kafka

/// What the key and headers of a message of `document-changes` tell, without decoding it.
extension RawEvent<DocumentChangesEvent> {
    /// Whether it is a change of a document, complete or only named.
    public var isChange: Bool {
        let type = message.headers[EventEnvelope.Header.type]
        return type == DocumentChangesEvent.changedType || type == DocumentChangesEvent.largeType
    }

    /// Whether it is a change with its documents.
    public var isWholeChange: Bool {
        message.headers[EventEnvelope.Header.type] == DocumentChangesEvent.changedType
    }

    /// The revision of a change, from the event's id, which is its key, a slash and the revision; `nil` for any other message.
    public var revision: Revision? {
        guard let key = message.key, let id = message.headers.value(EventEnvelope.Header.id), id.starts(with: key),
            id.dropFirst(key.count).first == UInt8(ascii: "/")
        else { return nil }
        return Revision(String(decoding: id.dropFirst(key.count + 1), as: UTF8.self))
    }

    /// The database and collection of a change, as `database.collection`; of a collection whose name has a slash, what is before it.
    var collection: ExactText? {
        message.headers.value(EventEnvelope.Header.subject).map {
            ExactText(String(decoding: $0.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self))
        }
    }

    /// Whether it is of one of these collections, or may be.
    public func concerns(_ collections: ConcernedCollections, of app: String) -> Bool {
        guard let subject = message.headers.value(EventEnvelope.Header.subject) else { return true }
        return collections.contains(app, subject: subject)
    }
}

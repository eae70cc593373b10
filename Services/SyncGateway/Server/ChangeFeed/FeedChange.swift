import DocumentModel
import SyncEngine

/// A change of which live frames are made: the topic brings it, or this gateway has committed it.
enum FeedChange: Sendable {
    case event(ChangeEvent)
    case committed(CommittedChange)

    var namespace: ChangeEvent.Namespace {
        switch self {
        case .event(let event): event.namespace
        case .committed(let change): change.namespace
        }
    }

    /// The text form of the document's `_id`.
    var id: String {
        switch self {
        case .event(let event): event.documentKey.idText ?? ""
        case .committed(let change): change.id
        }
    }

    var revision: Revision {
        switch self {
        case .event(let event): event.revision
        case .committed(let change): change.revision
        }
    }

    var incarnation: Revision {
        switch self {
        case .event(let event): event.incarnation
        case .committed(let change): change.incarnation
        }
    }

    var origin: ChangeEvent.Origin? {
        switch self {
        case .event(let event): event.origin
        case .committed(let change): change.origin
        }
    }

    /// Whether the document was deleted, or has left the partition.
    var isDeletion: Bool {
        switch self {
        case .event(let event): event.operationType == .delete
        case .committed(let change): change.body == nil
        }
    }

    /// The document's canonical text; `nil` when there is none any more.
    var body: [UInt8]? {
        switch self {
        case .committed(let change): return change.body
        case .event(let event):
            guard event.operationType != .delete, let document = event.fullDocument else { return nil }
            var body: [UInt8] = []
            // As it is stored, and as chunks have it.
            ExtendedJSON.append(document, mode: .exact, to: &body)
            return body
        }
    }
}

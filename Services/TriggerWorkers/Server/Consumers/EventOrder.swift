import AppDefinition
import DocumentModel
import EventTopics

/// The events that are handled one after the other: each is handled when those before it are done.
enum EventOrder {
    /// Those of a document.
    case document
    /// Those of all documents of a collection.
    case collection
    /// Those of all documents of a database.
    case database

    /// The lane of a document's events.
    func lane(of key: Value, in namespace: ChangeEvent.Namespace, app: String) -> String {
        switch self {
        case .document: "\(app)/\(namespace.database).\(namespace.collection)/\(key.idText ?? "")"
        // A document's lane has a slash more: an app's and a database's name have none.
        case .collection: "\(app)/\(namespace.database).\(namespace.collection)"
        case .database: "\(app)/\(namespace.database)"
        }
    }
}

extension AppDefinition {
    /// Which events of a collection are handled in order: all those of a trigger that isn't `unordered`, and those of one document in any
    /// case.
    ///
    /// The order of events of different partitions is that of their arrival.
    func eventOrder(in namespace: ChangeEvent.Namespace) -> EventOrder {
        var order = EventOrder.document
        for trigger in triggers where !trigger.isDisabled {
            guard case .database(let event) = trigger.event, !event.isUnordered, event.isOn(namespace) else { continue }
            if event.collection == nil { return .database }
            order = .collection
        }
        return order
    }

    /// The database triggers whose events are in the lane of a collection's, which isn't that of a document.
    func triggers(in order: EventOrder, of namespace: ChangeEvent.Namespace) -> [TriggerDefinition] {
        triggers.filter { trigger in
            guard !trigger.isDisabled, case .database(let event) = trigger.event else { return false }
            return order == .database ? event.database.hasSameBytes(as: namespace.database) : event.isOn(namespace)
        }
    }
}

extension TriggerDefinition {
    /// Whether the trigger's events are handled one after the other, also those of different documents.
    var isOrdered: Bool {
        if case .database(let event) = event { !event.isUnordered } else { false }
    }
}

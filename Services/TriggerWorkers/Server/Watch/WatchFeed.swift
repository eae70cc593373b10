import AppDefinition
import AppRegistry
import ChangeStream
import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Logging

/// Gives streams of changes what the topic brings: a message of an app or collection that nobody watches is dropped by its key and
/// headers, others are decoded once.
struct WatchFeed: Sendable {
    let apps: AppDirectory
    let history: ChangeHistory
    let retained: RetainedBytes
    let logger: Logger
    /// Admits reads of large changes, of one app half of them.
    let largeReads = FairGate<ExactText>(places: 4, waiting: 0)

    /// What is wanted of an app's changes, for one batch of messages.
    private struct Interest {
        let app: String
        let collections: ConcernedCollections
        let users: CustomUserData?
    }

    /// Handles a batch of messages, in order per partition.
    func handle(_ events: [RawEvent<DocumentChangesEvent>], for targets: inout some WatchTargets) {
        var interests: [[UInt8]: Interest?] = [:]
        for event in events {
            targets.reach(event.message)
            let key = event.keyBytes
            let known = interests[key]
            let interest = known ?? self.interest(key, targets)
            if known == nil { interests[key] = .some(interest) }
            guard let interest, event.isChange else { continue }
            take(event, interest, &targets)
        }
    }

    private func interest(_ key: [UInt8], _ targets: some WatchTargets) -> Interest? {
        guard let text = String(validating: key, as: UTF8.self),
            let (app, _) = DocumentChangesEvent.parse(key: text), targets.contains(app: app)
        else { return nil }
        var collections = ConcernedCollections()
        for namespace in targets.collections(of: app) {
            collections.add(app, database: namespace.database, collection: namespace.collection)
        }
        let users = apps.app(app)?.definition.customUserData.flatMap { $0.isEnabled ? $0 : nil }
        if let users { collections.add(app, database: users.database, collection: users.collection) }
        return Interest(app: app, collections: collections, users: users)
    }

    private func take(
        _ event: RawEvent<DocumentChangesEvent>, _ interest: Interest, _ targets: inout some WatchTargets
    ) {
        func lose(_ reason: String, _ targets: some WatchTargets) {
            logger.error(
                "a change can't be passed to streams of changes",
                metadata: ["app": "\(interest.app)", "reason": "\(reason)"])
            targets.lose(app: interest.app)
        }
        guard let revision = event.revision else { return lose("it has no revision", targets) }
        switch targets.note(revision, of: event.keyBytes, app: interest.app) {
        case .next: break
        case .repeated: return
        case .afterGap: lose("changes before it are missing", targets)
        }
        guard event.concerns(interest.collections, of: interest.app) else { return }
        do {
            let payload = try event.decoded().payload
            guard let place = WatchedPlace(payload) else { return }
            // A document that moves between partitions is deleted in the one; its change in the other is the event.
            if !place.isHalfOfMove {
                let present = targets.watches(of: place.namespace, app: interest.app)
                    .filter { $0.wanted.selection.wants(id: place.id) }
                if !present.isEmpty {
                    let change = WatchedChange(
                        .init(payload, history, largeReads), id: place.id,
                        size: place.size ?? event.message.value?.count ?? 0, retained: retained)
                    targets.add(change, to: present, revision, of: event.message)
                }
            }
            if let users = interest.users, users.isPlace(place.namespace) {
                targets.userDataChanged(of: users.owners(payload), app: interest.app)
            }
        } catch {
            lose("\(error)", targets)
        }
    }
}

/// What of a change decides who gets it.
private struct WatchedPlace {
    let namespace: ChangeEvent.Namespace
    /// The document's `_id`.
    let id: Value
    /// Whether the change is the deletion of a document in the partition that it leaves.
    let isHalfOfMove: Bool
    /// The size in bytes of a change whose documents aren't in the message.
    let size: Int?

    /// - Returns: `nil` for an event that isn't a change.
    init?(_ event: DocumentChangesEvent) {
        switch event {
        case .change(let change):
            (namespace, id, size) = (change.namespace, change.documentKey, nil)
            isHalfOfMove = change.operationType == .delete && change.movedFrom != nil
        case .large(let change):
            (namespace, id, size) = (change.namespace, change.documentKey, Int(clamping: change.size))
            isHalfOfMove = false
        case .head: return nil
        }
    }
}

extension CustomUserData {
    /// Whether its documents are in a collection.
    fileprivate func isPlace(_ namespace: ChangeEvent.Namespace) -> Bool {
        namespace == ChangeEvent.Namespace(database: database, collection: collection)
    }

    /// The users whose documents a change of its collection concerns; `nil` when the event doesn't tell.
    fileprivate func owners(_ event: DocumentChangesEvent) -> [String]? {
        guard case .change(let change) = event else { return nil }
        return [change.fullDocumentBeforeChange, change.fullDocument].compactMap { $0?[userIdField]?.stringValue }
    }
}

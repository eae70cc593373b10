import AppDefinition
import AppRegistry
import ChangeStream
import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Logging

/// Gives the streams of changes what the topic brings: a message of an app or collection that nobody watches is dropped by its key and
/// headers, others are decoded once.
struct WatchFeed: Sendable {
    let watches: Watches
    let apps: AppDirectory
    let history: ChangeHistory
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
    func handle(_ events: [RawEvent<DocumentChangesEvent>]) {
        if watches.isEmpty { return }
        var interests: [[UInt8]: Interest?] = [:]
        for event in events {
            let key = event.keyBytes
            let known = interests[key]
            let interest = known ?? self.interest(key)
            if known == nil { interests[key] = .some(interest) }
            guard let interest, event.isChange else { continue }
            take(event, interest)
        }
        watches.relieve()
    }

    private func interest(_ key: [UInt8]) -> Interest? {
        guard let text = String(validating: key, as: UTF8.self),
            let (app, _) = DocumentChangesEvent.parse(key: text), watches.contains(app: app)
        else { return nil }
        var collections = ConcernedCollections()
        for namespace in watches.collections(of: app) {
            collections.add(app, database: namespace.database, collection: namespace.collection)
        }
        let users = apps.app(app)?.definition.customUserData.flatMap { $0.isEnabled ? $0 : nil }
        if let users { collections.add(app, database: users.database, collection: users.collection) }
        return Interest(app: app, collections: collections, users: users)
    }

    private func take(_ event: RawEvent<DocumentChangesEvent>, _ interest: Interest) {
        guard let revision = event.revision else { return lose(interest.app, "it has no revision") }
        watches.saw(epoch: revision.epoch)
        switch watches.note(revision, of: event.keyBytes, app: interest.app) {
        case .next: break
        case .repeated: return
        case .afterGap: lose(interest.app, "changes before it are missing")
        }
        guard event.concerns(interest.collections, of: interest.app) else { return }
        do {
            switch try event.decoded().payload {
            case .change(let change):
                deliver(
                    change.namespace, change.documentKey, change.operationType == .delete && change.movedFrom != nil,
                    size: event.message.value?.count ?? 0, interest
                ) { .init(change, history, largeReads) }
                if let users = interest.users, users.isPlace(change.namespace) {
                    let documents = [change.fullDocumentBeforeChange, change.fullDocument]
                    changed(documents.compactMap { $0?[users.userIdField]?.stringValue }, interest.app)
                }
            case .large(let change):
                deliver(change.namespace, change.documentKey, false, size: Int(clamping: change.size), interest) {
                    .init(change, history, largeReads)
                }
                if let users = interest.users, users.isPlace(change.namespace) { changed(nil, interest.app) }
            case .head: break
            }
        } catch {
            lose(interest.app, "\(error)")
        }
    }

    private func deliver(
        _ namespace: ChangeEvent.Namespace, _ id: Value, _ isHalfOfMove: Bool, size: Int, _ interest: Interest,
        _ source: () -> WatchedChangeSource
    ) {
        // A document that moves between partitions is deleted in the one; its change in the other is the event.
        if isHalfOfMove { return }
        let present = watches.watches(of: namespace, app: interest.app).filter { $0.wanted.selection.wants(id: id) }
        if present.isEmpty { return }
        let change = WatchedChange(source(), id: id, size: size, retained: watches.retained)
        for watch in present { watch.queue.add(change) }
    }

    /// - Parameter ids: the users whose custom data has changed; `nil` if that isn't known.
    private func changed(_ ids: [String]?, _ app: String) {
        for namespace in watches.collections(of: app) {
            for watch in watches.watches(of: namespace, app: app)
            where ids?.contains(where: { $0.hasSameBytes(as: watch.claims.user) }) ?? true { watch.userChanged() }
        }
    }

    private func lose(_ app: String, _ reason: String) {
        logger.error(
            "a change can't be passed to streams of changes", metadata: ["app": "\(app)", "reason": "\(reason)"])
        watches.end { $0.claims.app.hasSameBytes(as: app) ? .lost : nil }
    }
}

extension CustomUserData {
    /// Whether its documents are in a collection.
    fileprivate func isPlace(_ namespace: ChangeEvent.Namespace) -> Bool {
        namespace == ChangeEvent.Namespace(database: database, collection: collection)
    }
}

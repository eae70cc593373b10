import DocumentModel
import EventTopics

/// Streams of changes by app and collection.
struct WatchIndex {
    private struct App {
        var collections: [ChangeEvent.Namespace: [ObjectIdentifier: Watch]] = [:]
        var revisions = RevisionBook()
    }

    private var apps: [ExactText: App] = [:]

    var all: [Watch] { apps.values.flatMap { $0.collections.values.flatMap(\.values) } }

    mutating func insert(_ watch: Watch) {
        apps[ExactText(watch.claims.app), default: App()]
            .collections[watch.wanted.namespace, default: [:]][ObjectIdentifier(watch)] = watch
    }

    mutating func remove(_ watch: Watch) {
        let (app, namespace) = (ExactText(watch.claims.app), watch.wanted.namespace)
        apps[app]?.collections[namespace]?[ObjectIdentifier(watch)] = nil
        if apps[app]?.collections[namespace]?.isEmpty == true { apps[app]?.collections[namespace] = nil }
        if apps[app]?.collections.isEmpty == true { apps[app] = nil }
    }

    /// Whether an app has streams.
    func contains(app: String) -> Bool { apps[ExactText(app)] != nil }

    /// The collections of an app that are watched.
    func collections(of app: String) -> [ChangeEvent.Namespace] {
        apps[ExactText(app)].map { Array($0.collections.keys) } ?? []
    }

    /// The streams of a collection.
    func watches(of namespace: ChangeEvent.Namespace, app: String) -> [Watch] {
        apps[ExactText(app)]?.collections[namespace].map { Array($0.values) } ?? []
    }

    /// Notes a revision that the topic brought of a watched app.
    mutating func note(_ revision: Revision, of partition: [UInt8], app: String) -> RevisionBook.Place {
        apps[ExactText(app)]?.revisions.note(revision, of: partition) ?? .next
    }
}

public import DocumentModel
public import EventStream
import EventTopics

/// What a service does with changes of documents.
public protocol ChangeHandler: EventHandler where Payload == DocumentChangesEvent {
    /// In which collections changes have an effect at the moment. Changes in others are passed over by their headers, unread, and
    /// count as handled. Asked anew for each batch, after its messages came, so that the answer is never older than a change.
    ///
    /// By default everywhere. When it throws, everything goes its usual way.
    /// - Parameter apps: whose changes there are.
    func concern(of apps: Set<ExactText>) async throws -> ConcernedCollections
}

extension ChangeHandler {
    public func concern(of apps: Set<ExactText>) async throws -> ConcernedCollections {
        var concerned = ConcernedCollections()
        for app in apps { concerned.addEverything(of: app.text) }
        return concerned
    }
}

/// Collections of apps whose changes a consumer has to see.
public struct ConcernedCollections: Sendable {
    /// Beginnings of subjects, by app.
    private var prefixes: [ExactText: [[UInt8]]] = [:]

    /// None.
    public init() {}

    /// All of an app.
    public mutating func addEverything(of app: String) { prefixes[app, default: []].append([]) }

    /// A collection, or all of a database.
    public mutating func add(_ app: String, database: String, collection: String?) {
        // Names of databases have neither dots nor slashes. A collection's may have both: then one that is added stands for others
        // too, which are read without need.
        let subject = collection.map { "\(database).\($0)/" } ?? "\(database)."
        prefixes[app, default: []].append(Array(subject.utf8))
    }

    /// Whether a change with this subject (`db.coll/key`) has to be seen.
    func contains(_ app: String, subject: ArraySlice<UInt8>) -> Bool {
        prefixes[app]?.contains { subject.starts(with: $0) } ?? false
    }
}

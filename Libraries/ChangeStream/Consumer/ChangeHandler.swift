public import DocumentModel
public import EventStream
import EventTopics

/// Handles the changes of documents in a service.
public protocol ChangeHandler: EventHandler where Payload == DocumentChangesEvent {
    /// Returns the collections in which changes currently have an effect. Changes in others are skipped by their headers, without
    /// decoding them, and count as handled. It is called for each batch after its messages arrived, so that the answer is never older
    /// than a change.
    ///
    /// By default, changes have an effect in all collections. When it throws, all changes of the batch are handled.
    /// - Parameter apps: the apps whose changes are in the batch.
    func concern(of apps: Set<ExactText>) async throws -> ConcernedCollections
}

extension ChangeHandler {
    public func concern(of apps: Set<ExactText>) async throws -> ConcernedCollections {
        var concerned = ConcernedCollections()
        for app in apps { concerned.addEverything(of: app.text) }
        return concerned
    }
}

/// The collections whose changes a consumer has to handle, by app.
public struct ConcernedCollections: Sendable {
    /// Prefixes of subjects in UTF-8, by app; an empty one stands for the whole app.
    private var prefixes: [ExactText: [[UInt8]]] = [:]

    /// Creates an empty set: no change has to be handled.
    public init() {}

    /// Adds all collections of an app.
    public mutating func addEverything(of app: String) { prefixes[app, default: []].append([]) }

    /// Adds a collection, or with `collection` `nil` all collections of a database.
    public mutating func add(_ app: String, database: String, collection: String?) {
        // Database names have neither dots nor slashes. A collection's name may have both: its prefix then matches other collections
        // too, whose changes are decoded unnecessarily.
        let subject = collection.map { "\(database).\($0)/" } ?? "\(database)."
        prefixes[app, default: []].append(Array(subject.utf8))
    }

    /// Returns whether a change with this subject (`db.coll/key`) has to be handled.
    func contains(_ app: String, subject: ArraySlice<UInt8>) -> Bool {
        prefixes[app]?.contains { subject.starts(with: $0) } ?? false
    }
}

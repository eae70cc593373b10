public import DocumentModel
public import QueryLanguage

/// A function that runs on events: changes of documents, events of accounts, or scheduled times.
public struct TriggerDefinition: Sendable {
    public var name: String
    /// Its file inside the app's folder, for error messages.
    public var file: String
    public var functionName: String
    public var isDisabled: Bool
    public var event: Event

    /// The events that a trigger handles.
    public enum Event: Sendable {
        case database(Database)
        case authentication(Authentication)
        case schedule(Schedule)
    }

    /// A change of a document.
    public struct Database: Sendable {
        public var service: String
        public var database: String
        /// `nil`: every collection of the database.
        public var collection: String?
        public var operationTypes: Set<ChangeEvent.OperationType>
        /// A filter for change events; `nil` matches all.
        public var match: Filter?
        /// A projection of the change event; `nil` passes all of it.
        public var projection: Projection?
        /// Whether an `update` event carries the document.
        public var wantsFullDocument: Bool
        /// Whether the event carries the document before the change.
        public var wantsDocumentBeforeChange: Bool
        /// Whether events of different documents are handled at the same time; otherwise one after the other.
        public var isUnordered: Bool
        /// Whether events from before the trigger was (re)enabled are skipped.
        public var skipsCatchUpEvents: Bool
    }

    /// Events of accounts.
    public struct Authentication: Sendable {
        /// The accepted kinds; raw values as in exports.
        public enum Operation: String, Sendable {
            case create = "CREATE"
            case login = "LOGIN"
            case delete = "DELETE"
            case logout = "LOGOUT"
        }

        public var operation: Operation
        /// Provider names; empty for any.
        public var providers: [String]
        /// Whether the function gets the user instead of an event: it is that of `on_user_creation_function_name`.
        public var givesUserOnly = false
    }

    /// Scheduled times.
    public struct Schedule: Sendable {
        public var cron: CronSchedule
        /// Whether scheduled times that passed while no worker ran are skipped.
        public var skipsCatchUpEvents: Bool
    }
}

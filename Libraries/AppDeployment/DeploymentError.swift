/// Why an operation on a deployed app was refused.
public struct DeploymentError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure; raw values are stable.
    public enum Code: String, Hashable, Sendable {
        /// Another process deploys or removes the app.
        case deploymentRunning = "deployment-running"
        /// The connection that excluded other deployments was lost, and nothing was changed.
        case lockLost = "deployment-lock-lost"
        /// The version that was to be undone isn't the current one any more.
        case versionChanged = "version-changed"
        /// The files or the archive of an app can't be read.
        case sourceUnreadable = "source-unreadable"
        /// Another app has the id, but for the case of its letters.
        case idTaken = "app-id-taken"
        /// Documents would leave the partitions in which devices have them.
        case partitionsChange = "partitions-change"
        /// Stored documents, or those of older versions of the app, violate the new schema.
        case schemaBreaks = "schema-breaks"
        /// A declared index is malformed.
        case indexInvalid = "index-invalid"
        /// A declared index can't be created on the documents that are there.
        case indexFailed = "index-failed"
        /// No app of that id is deployed, or was ever.
        case appUnknown = "app-unknown"
        /// The app has no version before the present one.
        case versionUnknown = "version-unknown"
        /// The app has no trigger of that name.
        case triggerUnknown = "trigger-unknown"
        /// The trigger is paused already, or isn't paused.
        case triggerState = "trigger-state"
        /// The app has no dead letter of that number, or it was replayed or discarded.
        case deadLetterUnknown = "dead-letter-unknown"
        /// The dead letter's event can't be published again.
        case deadLetterKind = "dead-letter-kind"
        /// Services still run the app.
        case appInUse = "app-in-use"
        /// An export would overwrite something.
        case placeTaken = "place-taken"
        /// A file of an export has a path that may lead out of the folder that it would be written to.
        case pathAstray = "path-astray"
        /// The app doesn't sync, so that nobody may open any partition.
        case notSynced = "not-synced"
        /// There is no such partition, user or document.
        case subjectUnknown = "subject-unknown"
    }

    public let code: Code
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code.rawValue): \(message)" }
}

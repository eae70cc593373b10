/// A problem in an app's folder, with its place.
public struct DefinitionProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of problem it is; the raw value is stable and part of the tool's output.
    public enum Code: String, CaseIterable, Sendable {
        case fileMissing = "file-missing"
        case fileUnreadable = "file-unreadable"
        case fileTooLarge = "file-too-large"
        case fileNotText = "file-not-text"
        /// A file or folder whose name isn't UTF-8.
        case fileNameNotText = "file-name-not-text"
        /// A folder at the app's root whose name differs only in its capitals from one that the format has.
        case folderMisnamed = "folder-misnamed"
        /// A file that nothing reads and that is too large to be kept for an export of the app.
        case fileNotKept = "file-not-kept"
        /// A link that leads out of the app's folder, or nowhere.
        case linkNotFollowed = "link-not-followed"
        case jsonInvalid = "json-invalid"
        /// A comma before a closing bracket, which JSON doesn't allow and which is passed over.
        case jsonTrailingComma = "json-trailing-comma"
        /// The app's id isn't in the root file, and comes from elsewhere.
        case appIdDerived = "app-id-derived"
        case fieldMissing = "field-missing"
        case fieldType = "field-type"
        case fieldValue = "field-value"
        /// An unknown field name that resembles a known one.
        case fieldUnknown = "field-unknown"
        /// A setting that has no effect here.
        case fieldUnused = "field-unused"
        case nameDuplicate = "name-duplicate"
        case functionUnknown = "function-unknown"
        case functionSourceMissing = "function-source-missing"
        case functionNotConfigured = "function-not-configured"
        /// A trigger that names no function.
        case functionMissing = "function-missing"
        case functionSyntax = "function-syntax"
        case functionNotExported = "function-not-exported"
        /// A source that is too large to be searched for what isn't served.
        case functionNotChecked = "function-not-checked"
        case serviceUnknown = "service-unknown"
        /// A service without rules, which functions that run as a user can't call.
        case serviceWithoutRules = "service-without-rules"
        case collectionUnknown = "collection-unknown"
        /// Two clusters have a collection of the same name, which would be one collection here.
        case collectionConflict = "collection-conflict"
        /// A part of the export that stands at two places, of which one is used.
        case partShadowed = "part-shadowed"
        /// A secret in plain text in a file of the app.
        case secretInClear = "secret-in-clear"
        case valueUnknown = "value-unknown"
        case ruleInvalid = "rule-invalid"
        case ruleOperatorUnknown = "rule-operator-unknown"
        case ruleExpansionUnknown = "rule-expansion-unknown"
        case schemaInvalid = "schema-invalid"
        case schemaTypeUnsupported = "schema-type-unsupported"
        /// A regular expression that Postgres can't match, so that writes by SQL can't be checked with it.
        case schemaPatternUncheckable = "schema-pattern-uncheckable"
        case partitionKeyMissing = "partition-key-missing"
        case partitionKeyTypeMismatch = "partition-key-type-mismatch"
        /// Sync is enabled, and the schemas that there are sync nothing.
        case syncsNothing = "syncs-nothing"
        /// A part of a synced collection's schema that apps with a Realm SDK can't have.
        case realmClassUnfit = "realm-class-unfit"
        case syncTypeUnsupported = "sync-type-unsupported"
        /// Flexible sync that is served in partitions, as `--sync-by` says.
        case syncTranslated = "sync-translated"
        /// Users can change the app's schemas.
        case developmentMode = "development-mode"
        /// `--sync-by` names a field by which the app's permissions can't be kept.
        case syncByInvalid = "sync-by-invalid"
        /// Media whose links nobody could open.
        case mediaUnreachable = "media-unreachable"
        case matchInvalid = "match-invalid"
        case scheduleInvalid = "schedule-invalid"
        case endpointNotServed = "endpoint-not-served"
        case featureNotServed = "feature-not-served"
    }

    /// An error prevents the deployment; a warning is only shown.
    public enum Severity: String, Sendable { case error, warning }

    public var code: Code
    public var severity: Severity
    /// The path inside the app's folder; empty for a problem of the folder itself.
    public var file: String
    /// The JSON pointer (RFC 6901) inside the file; empty for the whole file.
    public var pointer: String
    /// The line in the file, counted from 1; `nil` when it isn't known.
    public var line: Int?
    public var message: String

    /// Creates a problem.
    public init(
        _ code: Code, severity: Severity = .error, file: String, pointer: String = "", line: Int? = nil,
        _ message: String
    ) {
        self.code = code
        self.severity = severity
        self.file = file
        self.pointer = pointer
        self.line = line
        self.message = message
    }

    /// `triggers/onUser.json:4 /function_name: error function-unknown: …`
    public var description: String {
        var place = file.isEmpty ? "." : file
        if let line { place += ":\(line)" }
        if !pointer.isEmpty { place += " " + pointer }
        return "\(place): \(severity.rawValue) \(code.rawValue): \(message)"
    }
}

/// One thing that is wrong in an app's folder, with its place.
public struct DefinitionProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of problem it is; the raw value is stable and part of the tool's output.
    public enum Code: String, Sendable {
        case fileMissing = "file-missing"
        case fileUnreadable = "file-unreadable"
        case fileTooLarge = "file-too-large"
        case fileNotText = "file-not-text"
        case jsonInvalid = "json-invalid"
        case fieldMissing = "field-missing"
        case fieldType = "field-type"
        case fieldValue = "field-value"
        /// A name that nobody reads, and that is almost one that somebody does.
        case fieldUnknown = "field-unknown"
        case nameDuplicate = "name-duplicate"
        case functionUnknown = "function-unknown"
        case functionSourceMissing = "function-source-missing"
        case functionNotConfigured = "function-not-configured"
        case functionSyntax = "function-syntax"
        case functionNotExported = "function-not-exported"
        case serviceUnknown = "service-unknown"
        case collectionUnknown = "collection-unknown"
        case valueUnknown = "value-unknown"
        case ruleInvalid = "rule-invalid"
        case ruleOperatorUnknown = "rule-operator-unknown"
        case ruleExpansionUnknown = "rule-expansion-unknown"
        case schemaInvalid = "schema-invalid"
        case schemaTypeUnsupported = "schema-type-unsupported"
        /// A regular expression that what SQL writes can't be compared with.
        case schemaPatternUncheckable = "schema-pattern-uncheckable"
        case partitionKeyMissing = "partition-key-missing"
        case partitionKeyTypeMismatch = "partition-key-type-mismatch"
        case syncTypeUnsupported = "sync-type-unsupported"
        case matchInvalid = "match-invalid"
        case scheduleInvalid = "schedule-invalid"
        case endpointNotServed = "endpoint-not-served"
        case featureNotServed = "feature-not-served"
    }

    /// An error keeps an app from being deployed; a warning is shown.
    public enum Severity: String, Sendable { case error, warning }

    public var code: Code
    public var severity: Severity
    /// The path inside the app's folder; empty when the problem is the folder's.
    public var file: String
    /// The JSON pointer (RFC 6901) inside the file; empty for the whole file.
    public var pointer: String
    /// The line in the file, from 1.
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

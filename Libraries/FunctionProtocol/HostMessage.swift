import DocumentModel

/// What a parent tells its function host. A host has one call at a time.
public enum HostRequest: Sendable {
    /// Replaces what is loaded.
    case load(FunctionBundle)
    case call(FunctionCall)
    /// The answer to an effect of the present call: a value, or why it failed.
    case answer(ordinal: Int64, Result<Value, EffectFailure>)
    /// Is this JavaScript? Nothing is run.
    case check(FunctionBundle.Source)
}

/// What a host tells its parent.
public enum HostReply: Sendable {
    /// Sent once, when the process is up.
    case ready
    case effect(FunctionEffect)
    case log(ConsoleLine)
    /// The end of a call, with the seconds of CPU time that it took and the host's resident bytes. A host whose call was ended by a
    /// limit ends itself after this.
    case done(call: Int64, Result<Value, FunctionFailure>, cpuTime: Double, memory: Int64)
    /// The answer to `check`; `nil` when it is JavaScript.
    case checked(FunctionFailure?)
}

/// A line of a function's console.
public struct ConsoleLine: Sendable {
    /// `log`, `info`, `warn`, `error`, `debug`.
    public var level: String
    public var message: String
    /// The app's function that wrote it, and the line in its source, when they are known.
    public var function: String?
    public var line: Int?

    public init(level: String, message: String, function: String? = nil, line: Int? = nil) {
        self.level = level
        self.message = message
        self.function = function
        self.line = line
    }
}

/// An effect that failed: what JavaScript gets as a thrown error.
public struct EffectFailure: Error, Sendable, CustomStringConvertible {
    /// The error's `name`: `MongoDBError`, `HTTPError`, …
    public var name: String
    public var message: String
    /// MongoDB's error code, where there is one.
    public var code: Int?
    /// What MongoDB's error tells beside them, as fields of the script's error: `keyValue`, `writeErrors`, `errorLabels`, …
    public var details: Document

    public init(name: String, message: String, code: Int? = nil, details: Document = [:]) {
        self.name = name
        self.message = message
        self.code = code
        self.details = details
    }

    public var description: String { "\(name): \(message)" }
}

import DocumentModel

/// A message of the parent to its function host. A host has many calls in flight; each has a number.
public enum HostRequest: Sendable {
    /// Replaces the loaded functions.
    case load(FunctionBundle)
    case call(FunctionCall)
    /// The answer to an effect of a call: a value, or the reason why it failed. Ignored when the call has ended.
    case answer(call: Int64, ordinal: Int64, Result<Value, EffectFailure>)
    /// Ends a call, whose result nobody waits for any more. It isn't answered.
    case end(call: Int64)
    /// Checks whether a source is valid JavaScript, without running it.
    case check(FunctionBundle.Source)
}

/// A message of a host to its parent.
public enum HostReply: Sendable {
    /// Sent once, when the process is ready.
    case ready
    case effect(call: Int64, FunctionEffect)
    case log(call: Int64, ConsoleLine)
    /// A run that watches for it has read the clock; once at most.
    case clockRead(call: Int64)
    /// The end of a call, with its CPU time in seconds and the host's resident memory in bytes. A host of which a call was ended by a
    /// limit ends itself once its other calls have ended.
    case done(call: Int64, Result<Value, FunctionFailure>, cpuTime: Double, memory: Int64)
    /// The answer to a call that goes on with the timers that it has left behind; otherwise as `done`.
    case answered(call: Int64, Result<Value, FunctionFailure>, cpuTime: Double, memory: Int64)
    /// The end of an answered call, with what ended it if it was a limit.
    case ended(call: Int64, FunctionFailure?)
    /// The answer to `check`; `nil` when it is valid JavaScript.
    case checked(FunctionFailure?)
}

/// A line of a function's console.
public struct ConsoleLine: Sendable {
    /// The console method: `log`, `info`, `warn`, `error`, `debug`.
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

/// The error of a failed effect, which is thrown in JavaScript.
public struct EffectFailure: Error, Sendable, CustomStringConvertible {
    /// The error's `name`: `MongoDBError`, `HTTPError`, …
    public var name: String
    public var message: String
    /// MongoDB's error code, if there is one.
    public var code: Int?
    /// Further fields of MongoDB's error, which become fields of the script's error: `keyValue`, `writeErrors`, `errorLabels`, …
    public var details: Document

    public init(name: String, message: String, code: Int? = nil, details: Document = [:]) {
        self.name = name
        self.message = message
        self.code = code
        self.details = details
    }

    public var description: String { "\(name): \(message)" }
}

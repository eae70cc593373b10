import DocumentModel

/// One run of a function.
public struct FunctionCall: Sendable {
    /// The number of the call in its host.
    public var id: Int64
    public var function: String
    /// As a text, since only the script reads them.
    public var arguments: FunctionArguments
    /// The contents of `context`: `user`, `values`, `environment` {tag, values}, `app` {id, name}, `runningAsSystem`, `request`,
    /// and `systemFunctions`: those that always run as the system. The text of a document in Extended JSON, since only the script reads
    /// it.
    public var context: String
    /// The CPU time after which the run is ended, in seconds.
    public var cpuLimit: Double
    /// The CPU time, in seconds, after which a run that has had no effect and no output yet is ended, so that it can start again in a
    /// host of its own; `nil`: it has one.
    public var sharedLimit: Double?
    /// Whose turns it takes on the host's thread: calls with equal texts share them.
    public var turn: ExactText
    /// Makes `Math.random` and ObjectIds the same in every run with the same seed; `nil`: random.
    public var seed: Int64?
    /// The time that `Date` shows in a run that must be repeatable, in milliseconds since 1970; `nil`: the clock.
    public var now: Int64?
    /// Whether the function gets an object that describes an HTTP response as its last argument. The call's result is then
    /// `{result, response: {statusCode, headers: {name: [value]}, body, isSet}}`; the body is a string or binary, and absent when the
    /// function set none. `isSet` says whether it set anything.
    public var givesResponse: Bool
    /// The time from the call's start, in seconds, for which timers that it has left behind may run after it was answered; `nil`: none do.
    public var lingerLimit: Double?
    /// Whether the host tells when the run reads the clock.
    public var watchesClock: Bool

    public init(
        id: Int64, function: String, arguments: FunctionArguments, context: String, cpuLimit: Double,
        sharedLimit: Double? = nil, turn: ExactText = "", seed: Int64? = nil, now: Int64? = nil,
        givesResponse: Bool = false, lingerLimit: Double? = nil,
        watchesClock: Bool = false
    ) {
        self.id = id
        self.function = function
        self.arguments = arguments
        self.context = context
        self.cpuLimit = cpuLimit
        self.sharedLimit = sharedLimit
        self.turn = turn
        self.seed = seed
        self.now = now
        self.givesResponse = givesResponse
        self.lingerLimit = lingerLimit
        self.watchesClock = watchesClock
    }
}

/// An operation outside of JavaScript that a function requests: a document operation, an HTTP request, an AWS call.
public struct FunctionEffect: Sendable {
    /// The number of the effect within its call, from 0, which is also the ordinal of its journal entry.
    public var ordinal: Int64
    /// `mongodb-atlas`, `http`, `aws`, …
    public var service: String
    /// `find`, `insertOne`, `get`, `s3.PutObject`, …
    public var action: String
    public var arguments: Document
    /// The app's function that requests it: the one that was called, or one that it called.
    public var function: String

    /// The service that a repeatable run asks for the key of its random bytes: 32 bytes, the same when the run is repeated.
    public static let random = "random"

    public init(ordinal: Int64, service: String, action: String, arguments: Document, function: String) {
        self.ordinal = ordinal
        self.service = service
        self.action = action
        self.arguments = arguments
        self.function = function
    }
}

/// Why a function returned no value. Clients see the same fields (`error`, `error_code`).
public struct FunctionFailure: Error, Sendable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// The function threw, or an effect that it didn't catch failed.
        case functionExecutionError = "FunctionExecutionError"
        case functionNotFound = "FunctionNotFound"
        case functionSyntaxError = "FunctionSyntaxError"
        /// It exceeded its CPU time, wall time, memory or output size; the next two are more specific.
        case executionTimeLimitExceeded = "ExecutionTimeLimitExceeded"
        case memoryLimitExceeded = "MemoryLimitExceeded"
        case sizeLimitExceeded = "SizeLimitExceeded"
        /// The host process ended in the middle of the call.
        case hostLost = "FunctionHostLost"

        /// Whether the host's process ends with the call.
        public var endsHost: Bool { self == .executionTimeLimitExceeded || self == .memoryLimitExceeded }
    }

    public var code: Code
    public var message: String
    /// The function's name and the line in its source, when they are known.
    public var function: String?
    public var line: Int?
    public var stack: String?
    /// Whether the time passed while the function waited for others: for an effect or for a process to run in, or while this process stood
    /// still. It says nothing about the function then. It isn't a part of the protocol.
    public var waitedForOthers = false

    public init(code: Code, message: String, function: String? = nil, line: Int? = nil, stack: String? = nil) {
        self.code = code
        self.message = message
        self.function = function
        self.line = line
        self.stack = stack
    }

    public var description: String {
        guard let function else { return "\(code.rawValue): \(message)" }
        return "\(code.rawValue): \(message) (\(function)\(line.map { ":\($0)" } ?? ""))"
    }
}

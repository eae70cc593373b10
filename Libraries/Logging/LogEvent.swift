/// One thing that was logged, complete: the handler adds nothing to it.
public struct LogEvent: Sendable {
    /// When it was logged, by the system's clock.
    public let time: LogTime
    /// How much it matters.
    public let level: Logger.Level
    /// The logger's label.
    public let label: String
    /// The constant text.
    public let message: Logger.Message
    /// The logger's metadata and the event's own.
    public let metadata: Logger.Metadata
    /// Where it was logged, as `Module/File.swift`.
    public let file: String
    /// The function that logged it.
    public let function: String
    /// The line in the file.
    public let line: UInt

    package init(
        time: LogTime, level: Logger.Level, label: String, message: Logger.Message, metadata: Logger.Metadata,
        file: String,
        function: String, line: UInt
    ) {
        self.time = time
        self.level = level
        self.label = label
        self.message = message
        self.metadata = metadata
        self.file = file
        self.function = function
        self.line = line
    }
}

/// Takes events and puts them somewhere. Called on the thread that logs: it must be quick and must not block.
public protocol LogHandler: Sendable {
    /// Takes one event, the level of which has been checked already.
    func log(event: LogEvent)
}

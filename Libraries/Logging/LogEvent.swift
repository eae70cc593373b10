/// A complete log event, to which the handler adds nothing.
public struct LogEvent: Sendable {
    /// When it was logged, by the system's clock.
    public let time: LogTime
    /// The severity of the event.
    public let level: Logger.Level
    /// The logger's label.
    public let label: String
    /// The constant message.
    public let message: Logger.Message
    /// The logger's metadata and the event's own.
    public let metadata: Logger.Metadata
    /// The file that logged it, as `Module/File.swift`.
    public let file: String
    /// The function that logged it.
    public let function: String
    /// The line in the file that logged it.
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

/// Receives events and writes or stores them. It is called on the thread that logs, so it must be fast and must not block.
public protocol LogHandler: Sendable {
    /// Receives one event, whose level has already been checked.
    func log(event: LogEvent)
}

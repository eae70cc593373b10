/// The format of log lines.
public enum LogFormat: String, Sendable, CaseIterable {
    /// One JSON object per line: `time`, `level`, `label`, `message`, `source`, and `metadata` when there is any.
    case json
    /// One line for people.
    case text
}

/// Writes events as lines to a file descriptor, through a bounded buffer and a thread of its own, so that the caller never waits
/// for the disk or for a slow reader of the pipe. When the buffer is full, lines are dropped and counted, and a line reports their
/// number as soon as there is space again.
public struct StreamLogHandler: LogHandler {
    private let format: LogFormat
    private let writer: LogWriter

    /// Creates a handler.
    /// - Parameters:
    ///   - format: JSON lines, or text for people.
    ///   - descriptor: An open file descriptor that stays open as long as the process runs.
    ///   - capacity: The maximum number of bytes that wait to be written.
    public init(format: LogFormat, descriptor: Int32, capacity: Int = 4 << 20) {
        self.format = format
        writer = LogWriter(descriptor: descriptor, capacity: capacity) { dropped in
            var bytes: [UInt8] = []
            let event = LogEvent(
                time: .now, level: .warning, label: "logging", message: "log lines were dropped",
                metadata: ["dropped": .stringConvertible(dropped)], file: #fileID, function: #function, line: #line)
            format.append(event, to: &bytes)
            return bytes
        }
    }

    /// Adds the event's line to the buffer, or drops it when the buffer is full. Waits until it is written only if it is critical.
    public func log(event: LogEvent) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        format.append(event, to: &bytes)
        writer.append(bytes)
        // The process is about to end, possibly by a trap that runs no exit handlers.
        if event.level == .critical { _ = writer.flush(within: .seconds(1)) }
    }

    /// How many lines were dropped because the buffer was full or the output failed.
    public var droppedLines: Int { writer.dropped }

    /// Waits until all events logged so far are written, at most for the given time.
    /// - Returns: Whether everything was written.
    public func flush(within limit: Duration) -> Bool { writer.flush(within: limit) }
}

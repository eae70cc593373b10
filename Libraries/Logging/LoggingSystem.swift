import EventLoop
import Synchronization

/// The handler and the lowest level of all loggers. Set once, at the start of a process.
public enum LoggingSystem {
    private static let threshold = Atomic<UInt8>(Logger.Level.warning.severity)
    private static let installed = Locked<(any LogHandler)?>(nil)
    private static let fallback = StreamLogHandler(format: .text, descriptor: 2)

    /// Sends the events of all loggers to standard output, as JSON lines or as text, or to another handler.
    ///
    /// Until then, warnings and more severe events go to standard error as text. Calling it again replaces the handler after
    /// writing the lines that the earlier one buffers.
    /// - Parameters:
    ///   - level: The lowest level that is written.
    ///   - format: One JSON object per line, or text for people.
    public static func bootstrap(level: Logger.Level = .info, format: LogFormat = .json) {
        bootstrap(level: level, handler: StreamLogHandler(format: format, descriptor: 1))
    }

    /// Sends the events of all loggers to a handler.
    public static func bootstrap(level: Logger.Level = .info, handler: any LogHandler) {
        flush()
        installed.withLock { $0 = handler }
        threshold.store(level.severity, ordering: .relaxed)
    }

    /// The lowest level that is written by loggers without a level of their own.
    public static var level: Logger.Level {
        @inline(__always) get { levels[Int(threshold.load(ordering: .relaxed))] }
    }

    /// How many lines were dropped because the buffer was full or the output failed.
    public static var droppedLines: Int {
        (installed.withLock { $0 } as? StreamLogHandler)?.droppedLines ?? fallback.droppedLines
    }

    /// Waits until all events logged so far are written, at most for the given time. It is called automatically when the process
    /// exits by `exit` or by returning from `main`.
    /// - Returns: Whether everything was written.
    @discardableResult
    public static func flush(within limit: Duration = .seconds(2)) -> Bool {
        guard let stream = (installed.withLock { $0 } ?? fallback) as? StreamLogHandler else { return true }
        return stream.flush(within: limit)
    }

    static var handler: any LogHandler { installed.withLock { $0 } ?? fallback }

    private static let levels = Logger.Level.allCases
}

extension Logger {
    /// The severity of an event, in ascending order.
    public enum Level: String, Sendable, CaseIterable, Comparable {
        /// Follows one request step by step.
        case trace
        /// Information for finding a fault.
        case debug
        /// Useful information that requires no action.
        case info
        /// A normal but rare condition: start, stop, a change of leadership.
        case notice
        /// A degradation from which the process recovers by itself.
        case warning
        /// Work was lost or refused that should not have been.
        case error
        /// The process can't continue.
        case critical

        @usableFromInline
        var severity: UInt8 {
            switch self {
            case .trace: 0
            case .debug: 1
            case .info: 2
            case .notice: 3
            case .warning: 4
            case .error: 5
            case .critical: 6
            }
        }

        /// Whether the left level is less severe than the right one.
        @inlinable
        public static func < (left: Level, right: Level) -> Bool { left.severity < right.severity }
    }

    /// Logs a single step of a request.
    @inlinable
    public func trace(
        _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil, file: String = #fileID,
        function: String = #function, line: UInt = #line
    ) {
        log(level: .trace, message(), metadata: metadata(), file: file, function: function, line: line)
    }

    /// Logs information for finding a fault.
    @inlinable
    public func debug(
        _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil, file: String = #fileID,
        function: String = #function, line: UInt = #line
    ) {
        log(level: .debug, message(), metadata: metadata(), file: file, function: function, line: line)
    }

    /// Logs useful information that requires no action.
    @inlinable
    public func info(
        _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil, file: String = #fileID,
        function: String = #function, line: UInt = #line
    ) {
        log(level: .info, message(), metadata: metadata(), file: file, function: function, line: line)
    }

    /// Logs a normal but rare condition: start, stop, a change of leadership.
    @inlinable
    public func notice(
        _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil, file: String = #fileID,
        function: String = #function, line: UInt = #line
    ) {
        log(level: .notice, message(), metadata: metadata(), file: file, function: function, line: line)
    }

    /// Logs a degradation from which the process recovers by itself.
    @inlinable
    public func warning(
        _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil, file: String = #fileID,
        function: String = #function, line: UInt = #line
    ) {
        log(level: .warning, message(), metadata: metadata(), file: file, function: function, line: line)
    }

    /// Logs that work was lost or refused that should not have been. Log one line per failure, where it is handled.
    @inlinable
    public func error(
        _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil, file: String = #fileID,
        function: String = #function, line: UInt = #line
    ) {
        log(level: .error, message(), metadata: metadata(), file: file, function: function, line: line)
    }

    /// Logs that the process can't continue.
    @inlinable
    public func critical(
        _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil, file: String = #fileID,
        function: String = #function, line: UInt = #line
    ) {
        log(level: .critical, message(), metadata: metadata(), file: file, function: function, line: line)
    }
}

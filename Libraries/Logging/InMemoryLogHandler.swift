import EventLoop

/// Keeps events in memory, for tests: `Logger(label: "test", handler: handler, logLevel: .trace)`.
public final class InMemoryLogHandler: LogHandler {
    private let kept = Locked<[LogEvent]>([])

    /// Creates an empty handler.
    public init() {}

    /// The events logged so far, in order.
    public var events: [LogEvent] { kept.withLock { $0 } }

    /// The messages of the events logged so far, in order.
    public var messages: [String] { events.map(\.message.description) }

    /// Keeps the event.
    public func log(event: LogEvent) { kept.withLock { $0.append(event) } }

    /// Removes all events.
    public func clear() { kept.withLock { $0.removeAll() } }
}

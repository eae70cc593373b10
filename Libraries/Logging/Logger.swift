/// Emits log events under a label. It is a value: changing a copy's metadata or level doesn't affect the original.
///
/// The API is that of swift-log. A logger without a level of its own uses the level that `LoggingSystem.bootstrap` sets, even if it
/// was created before.
public struct Logger: Sendable {
    /// Names the part of the process that logs, e.g. `sync-gateway.relay`.
    public let label: String

    private var ownLevel: Level?
    private var ownMetadata: Metadata = [:]
    private let ownHandler: (any LogHandler)?

    /// Creates a logger that writes to the handler of `LoggingSystem`.
    public init(label: String) {
        self.label = label
        ownHandler = nil
    }

    /// Creates a logger that writes to a handler of its own, as tests do with `InMemoryLogHandler`.
    public init(label: String, handler: any LogHandler, logLevel: Level? = nil) {
        self.label = label
        ownHandler = handler
        ownLevel = logLevel
    }

    /// The lowest level that is written. By default, it is the one of `LoggingSystem`.
    public var logLevel: Level {
        get { ownLevel ?? LoggingSystem.level }
        set { ownLevel = newValue }
    }

    /// The metadata of every event of this logger. An event's own metadata overrides it.
    public var metadata: Metadata {
        get { ownMetadata }
        set { ownMetadata = newValue }
    }

    /// One value of the metadata of every event of this logger.
    public subscript(metadataKey key: String) -> MetadataValue? {
        get { ownMetadata[key] }
        set { ownMetadata[key] = newValue }
    }

    /// Writes an event if its level is enabled. Otherwise message and metadata are not evaluated.
    @inlinable
    public func log(
        level: Level, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil,
        file: String = #fileID, function: String = #function, line: UInt = #line
    ) {
        guard level >= logLevel else { return }
        emit(level, message(), metadata(), file, function, line)
    }

    @usableFromInline
    func emit(
        _ level: Level, _ message: Message, _ metadata: Metadata?, _ file: String, _ function: String, _ line: UInt
    ) {
        var merged = ownMetadata
        if let metadata {
            if merged.isEmpty { merged = metadata } else { merged.merge(metadata) { _, new in new } }
        }
        let event = LogEvent(
            time: .now, level: level, label: label, message: message, metadata: merged, file: file, function: function,
            line: line)
        (ownHandler ?? LoggingSystem.handler).log(event: event)
    }
}

import EventLoop
import Logging
import Metrics

/// Reports the failures of one kind of work that a service repeats for as long as it runs: the counter `background_failures_total` counts each, and
/// the log has a warning whenever the cause changes, and every ten minutes while it lasts. The other failures are logged for debugging.
public final class FailureReport: Sendable {
    private static let failures = MetricFamily<Counter>(
        label: "background_failures_total", help: "Failures of work that is repeated.", dimensions: ["work"])
    /// After this time an unchanged cause is logged again.
    private static let pause = Duration.seconds(600)

    private let counter: Counter
    private let logger: Logger
    private let changes = Locked(FailureChanges())

    /// - Parameter work: The value of the counter's dimension: what is repeated, in words with hyphens.
    public init(_ work: String, logger: Logger) {
        counter = Self.failures[work]
        self.logger = logger
    }

    /// The work has failed, and is tried again. A cancellation is no failure.
    /// - Parameters:
    ///   - message: What isn't done meanwhile.
    ///   - metadata: What the log line has beside the error.
    public func failed(_ message: Logger.Message, _ error: any Error, metadata: Logger.Metadata = [:]) {
        if error is CancellationError { return }
        counter.increment()
        let isNew = changes.withLock { $0.isNew("\(error)", again: Self.pause) }
        logger.log(
            level: isNew ? .warning : .debug, message,
            metadata: metadata.merging(["error": "\(error)"]) { $1 })
    }

    /// The work has succeeded.
    /// - Parameter message: What is done again; it is logged after a failure.
    public func succeeded(_ message: Logger.Message) {
        if changes.withLock({ $0.recovered() }) { logger.notice(message) }
    }
}

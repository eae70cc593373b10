import Logging

/// Steps of work that a service repeats for as long as it runs. One that fails is reported by a ``FailureReport``, and doesn't keep the others from
/// their work.
public struct RepeatedSteps: Sendable {
    /// A step, and what it is called in the log and in the counter of failures: words with hyphens.
    public typealias Step = (work: String, perform: @Sendable () async throws -> Void)

    private let steps: [(step: Step, report: FailureReport)]
    private let interval: Duration

    /// - Parameter interval: The pause between the last step and the next first one.
    public init(_ steps: [Step], every interval: Duration, logger: Logger) {
        self.steps = steps.map { ($0, FailureReport($0.work, logger: logger)) }
        self.interval = interval
    }

    /// Performs the steps at once, and then at intervals, until graceful shutdown or cancellation.
    public func run() async {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            while !Task.isCancelled {
                for (step, report) in steps {
                    do {
                        try await step.perform()
                        report.succeeded("this is done again: \(step.work)")
                    } catch {
                        report.failed("this can't be done now: \(step.work)", error)
                    }
                }
                // What makes them due is the passing of time, which no event tells.
                try await Task.sleep(for: interval)
            }
        }
    }
}

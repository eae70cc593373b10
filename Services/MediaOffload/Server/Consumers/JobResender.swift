import EventStream
import EventTopics
import Lifecycle
import Logging
import Metrics

/// Sends jobs again that have not been done for long: their message may be lost. One that is only waiting is there twice then, which
/// changes nothing.
struct JobResender: Service {
    let table: JobTable
    let events: EventProducer
    /// How often it looks.
    let interval: Duration
    let logger: Logger

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                while true {
                    await resend()
                    try await Task.sleep(for: interval)
                }
            }
        } catch is CancellationError {
            // The way it ends.
        }
    }

    private func resend() async {
        do {
            while true {
                let jobs = try await table.overdue(limit: 500)
                if jobs.isEmpty { return }
                try await events.send(jobs).requireAll()
                MediaOffloadMetrics.resentJobs.increment(by: jobs.count)
            }
        } catch {
            logger.warning("jobs could not be sent again, the next look repeats it", metadata: ["error": "\(error)"])
        }
    }
}

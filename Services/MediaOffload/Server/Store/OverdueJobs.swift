import EventStream
import EventTopics

/// The jobs of `partita.media_jobs` that were published long ago and aren't done: their messages may be lost. A job that is only
/// waiting is in the topic twice then, which has no effect.
struct OverdueJobs: OutboxTable {
    let table: JobTable

    func waiting(limit: Int) async throws -> [MediaJob] { try await table.overdue(limit: limit) }

    static func event(_ job: MediaJob) -> MediaJob { job }

    /// `overdue` has already put off the next time.
    func published(_ jobs: [MediaJob]) async throws { MediaOffloadMetrics.resentJobs.increment(by: jobs.count) }
}

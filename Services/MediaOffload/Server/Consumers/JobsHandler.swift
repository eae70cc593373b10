import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
import EventStream
import EventTopics
import Logging

/// Performs the jobs of `media-jobs`: those of one document one after the other, those of different documents concurrently.
struct JobsHandler: EventHandler {
    let apps: AppDirectory
    let table: JobTable
    let breaker: StorageBreaker
    let mover: MediaMover
    let logger: Logger

    /// One app's photos don't hold up those of others.
    func share(of event: ReceivedEvent<MediaJob>) -> String { event.payload.app }

    func handle(_ events: [ReceivedEvent<MediaJob>]) async throws {
        // Waiting here instead of failing the attempt keeps the log short in an outage. The wait is short, since a rebalance may
        // move the Kafka partitions.
        try await breaker.admit(
            putting: events.contains { $0.payload.kind == .offload }, patience: .seconds(3))
        try await apps.refresh()
        try apps.requireReadable(events.map { ExactText($0.payload.app) })
        var settled: Set<MediaPlace> = []
        for job in events.map(\.payload) where settled.insert(job.place).inserted {
            guard let fields = fields(of: job) else {
                MediaOffloadMetrics.droppedJobs.increment()
                logger.debug("the app of a job isn't deployed", metadata: ["app": "\(job.app)"])
                continue
            }
            // A field that is no longer a media field keeps its link, and the link keeps its bytes.
            guard let field = fields.first(where: { $0.field.hasSameBytes(as: job.path) }) else { continue }
            try await mover.settle(field, of: fields, for: job)
        }
        try await table.done(events.map(\.payload))
    }

    /// The media fields of a job's document; `nil` when the app isn't deployed.
    private func fields(of job: MediaJob) -> [MediaField]? {
        apps.app(job.app)?.definition.media.filter { $0.namespace == job.namespace }
    }

    /// What says nothing of the photo, such as a full disk, is retried for as long as it takes: the photo waits in its document.
    func decide(_ error: any Error, on event: ReceivedEvent<MediaJob>, attempts: Int) async -> FailureDecision {
        switch error {
        // The call that failed has logged why.
        case let error as ObjectStorageError where error.code == .leftAlone: .wait
        case is ObjectStorageError, is MediaOffloadError, is AppDirectory.Unreadable: .retry
        case let error as DocumentStoreError where error.isTransient: .retry
        case _ where TransientErrors.contains(error): .retry
        default: attempts < 5 ? .retry : .deadLetter
        }
    }

    func deadLetter(_ letter: DeadLetter<MediaJob>) async throws {
        // First, since it is all done again when this fails.
        if let job = letter.event?.payload, let fields = fields(of: job) { try await mover.giveUp(job, of: fields) }
        MediaOffloadMetrics.droppedJobs.increment()
        guard let job = letter.event?.payload else {
            return logger.error("a job can't be read", metadata: ["error": "\(letter.error)"])
        }
        logger.error(
            "a job can't be done, the binary stays in its document",
            metadata: [
                "app": "\(job.app)", "document": "\(job.subject)", "media.field": "\(job.path)",
                "error": "\(letter.error)",
            ])
        try await table.done([job])
    }
}

import AppDefinition
import AppRegistry
import ChangeStream
import DocumentModel
import EventStream
import EventTopics
import Logging

/// Creates jobs from changes: for a binary to be moved, or a link that was removed. It does nothing else, so that changes never
/// wait for the object store.
struct ChangesHandler: ChangeHandler {
    let apps: AppDirectory
    let table: JobTable
    let events: EventProducer
    let logger: Logger

    func concern(of apps: Set<ExactText>) async throws -> ConcernedCollections {
        // A new app's first photos are moved, too.
        try await self.apps.refresh()
        try self.apps.requireReadable(apps)
        var concerned = ConcernedCollections()
        for app in apps.map(\.text) {
            for field in self.apps.app(app)?.definition.media ?? [] {
                concerned.add(app, database: field.namespace.database, collection: field.namespace.collection)
            }
        }
        return concerned
    }

    func handle(_ events: [ReceivedEvent<DocumentChangesEvent>]) async throws {
        // Events from a sweep are delivered without a call of `concern`.
        try await apps.refresh()
        try apps.requireReadable(events.map { ExactText($0.payload.app) })
        var jobs: [MediaJob] = []
        for event in events {
            guard case .change(let change) = event.payload, let app = apps.app(change.app) else { continue }
            for field in app.definition.media where field.namespace == change.namespace {
                jobs += MediaJob.jobs(for: change, field)
            }
        }
        guard !jobs.isEmpty else { return }
        // First in Postgres, so that a job that the broker loses is sent again.
        try await table.add(jobs)
        try await self.events.send(jobs).requireAll()
    }

    /// Errors that arrive here mean that an engine is unavailable, or that a newer process has stored the app's version.
    func decide(
        _ error: any Error, on event: ReceivedEvent<DocumentChangesEvent>, attempts: Int
    ) async -> FailureDecision { .retry }

    func deadLetter(_ letter: DeadLetter<DocumentChangesEvent>) async throws {
        logger.error("a change could not be read", metadata: ["error": "\(letter.error)"])
    }
}

extension MediaJob {
    /// The jobs that a change requires for one field.
    static func jobs(for change: ChangeEvent, _ field: MediaField) -> [MediaJob] {
        // The deletion of a moved document from its old partition: the document still exists.
        if change.operationType == .delete, change.movedFrom != nil { return [] }
        let place = MediaPlace(
            app: change.app, namespace: change.namespace, documentKey: change.documentKey, path: field.field)
        func job(_ kind: Kind, _ object: String? = nil) -> MediaJob {
            MediaJob(
                app: change.app, kind: kind, namespace: change.namespace, documentKey: change.documentKey,
                partition: change.partition, revision: change.revision, path: field.field, object: object,
                time: change.wallTime)
        }
        var jobs: [MediaJob] = []
        if field.binary(in: change.fullDocument) != nil { jobs.append(job(.offload)) }
        if let old = place.digest(of: field.link(in: change.fullDocumentBeforeChange)),
            old != place.digest(of: field.link(in: change.fullDocument))
        {
            jobs.append(job(.remove, old))
        }
        return jobs
    }
}

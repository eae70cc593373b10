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
        var concerned = ConcernedCollections()
        for app in apps.map(\.text) {
            guard let known = self.apps.app(app) else {
                concerned.addEverything(of: app)
                continue
            }
            for field in known.definition.media {
                concerned.add(app, database: field.namespace.database, collection: field.namespace.collection)
            }
        }
        return concerned
    }

    func handle(_ events: [ReceivedEvent<DocumentChangesEvent>]) async throws {
        var jobs: [MediaJob] = []
        for event in events {
            guard case .change(let change) = event.payload else { continue }
            guard let app = apps.app(change.app) else {
                throw MediaOffloadError(code: .unknownApp, message: "the app \(change.app) isn't loaded")
            }
            for field in app.definition.media where field.namespace == change.namespace {
                jobs += MediaJob.jobs(for: change, field)
            }
        }
        guard !jobs.isEmpty else { return }
        // First in Postgres, so that a job that the broker loses is sent again.
        try await table.add(jobs)
        try await self.events.send(jobs).requireAll()
    }

    /// A new app is loaded within seconds; an app that isn't loaded by then is no longer deployed.
    func decide(
        _ error: any Error, on event: ReceivedEvent<DocumentChangesEvent>, attempts: Int
    ) async -> FailureDecision {
        guard let error = error as? MediaOffloadError, error.code == .unknownApp else { return .retry }
        return attempts < 8 ? .retry : .deadLetter
    }

    func deadLetter(_ letter: DeadLetter<DocumentChangesEvent>) async throws {
        if letter.error is MediaOffloadError { return }
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

import ChangeStream
import DocumentModel
import EventStream
import EventTopics
import Logging

/// Decides again when a change affects a dependency of a decision. A change that is delivered twice is decided twice, with the same
/// result.
struct ChangesHandler: ChangeHandler {
    let decider: Decider
    let dependencies: DependencyTable
    let logger: Logger

    func concern(of apps: Set<ExactText>) async throws -> ConcernedCollections {
        var concerned = ConcernedCollections()
        for (app, namespace) in try await dependencies.collections(of: apps) {
            concerned.add(app, database: namespace.database, collection: namespace.collection)
        }
        return concerned
    }

    func handle(_ events: [ReceivedEvent<DocumentChangesEvent>]) async throws {
        var changes: [ExactText: [ChangeEvent]] = [:]
        for event in events {
            if case .change(let change) = event.payload { changes[change.app, default: []].append(change) }
        }
        for (app, changes) in changes {
            for subject in try await dependencies.subjects(concernedBy: changes, app: app.text) {
                try await decider.decideAgain(subject)
            }
        }
    }

    /// A decision that can't be made again is retried for as long as it takes: the old grant must not stay.
    func decide(
        _ error: any Error, on event: ReceivedEvent<DocumentChangesEvent>, attempts: Int
    ) async -> FailureDecision { .retry }

    func deadLetter(_ letter: DeadLetter<DocumentChangesEvent>) async throws {
        logger.error("a change could not be read", metadata: ["error": "\(letter.error)"])
    }
}

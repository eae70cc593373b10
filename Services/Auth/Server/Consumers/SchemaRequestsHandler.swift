import AppDefinition
import AppDeployment
import DocumentModel
import EventStream
import EventTopics
import Logging
import RealmSync

/// Adds what clients with Realm SDKs have to the schemas of apps in development mode.
struct SchemaRequestsHandler: EventHandler {
    let deployments: AppDeployments
    let producer: EventProducer
    let clock: WallClock
    let logger: Logger
    /// The gateway has answered its client after this time, in milliseconds.
    private static let patience: Int64 = 30_000

    func share(of event: ReceivedEvent<SchemaRequest>) -> String { event.payload.app }

    func handle(_ events: [ReceivedEvent<SchemaRequest>]) async throws {
        for event in events where event.payload.time >= clock.now() - Self.patience {
            let request = event.payload
            try await producer.send(
                SchemaAnswer(
                    request: request.id, app: request.app, refusal: try await refusal(of: request), time: clock.now()))
        }
    }

    /// Does what is asked for.
    /// - Returns: why not, for the client's developer.
    private func refusal(of request: SchemaRequest) async throws -> String? {
        do {
            let classes = try ObjectSchema(made: try Changeset(request.classes))
            try await deployments.add(classes, of: request.user, to: request.app)
            return nil
        } catch let refused as ClassesRefused {
            return refused.description
        } catch let error where error is DeploymentError || error is AppDefinitionError || error is ApplyError {
            // The client tries again.
            if [.deploymentRunning, .lockLost].contains((error as? DeploymentError)?.code) { throw error }
            logger.warning(
                "classes of a client weren't added to an app",
                metadata: ["app.id": "\(request.app)", "user.id": "\(request.user)", "error": "\(error)"])
            return "the app can't be deployed with it; the log of the auth service says why"
        }
    }

    func deadLetter(_ letter: DeadLetter<SchemaRequest>) async throws {
        logger.warning("a client's classes could not be added", metadata: ["error": "\(letter.error)"])
    }
}

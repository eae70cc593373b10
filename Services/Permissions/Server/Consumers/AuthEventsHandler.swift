import EventStream
import EventTopics
import Logging

/// Takes everything away from a user whose account is deleted or disabled, until it is enabled again.
struct AuthEventsHandler: EventHandler {
    let decider: Decider
    let logger: Logger

    func handle(_ events: [ReceivedEvent<AuthEvent>]) async throws {
        for event in events {
            let (app, user) = (event.payload.app, event.payload.userID)
            switch event.payload.kind {
            case .userDeleted, .userDisabled: try await decider.shutOut(app: app, user: user)
            // Who is enabled again gets what the rules say when somebody asks.
            case .userEnabled, .userCreated, .signedIn, .signedOut, .identityLinked, .sessionRevoked: break
            }
        }
    }

    func decide(_ error: any Error, on event: ReceivedEvent<AuthEvent>, attempts: Int) async -> FailureDecision {
        .retry
    }

    func deadLetter(_ letter: DeadLetter<AuthEvent>) async throws {
        logger.error("an auth event could not be read", metadata: ["error": "\(letter.error)"])
    }
}

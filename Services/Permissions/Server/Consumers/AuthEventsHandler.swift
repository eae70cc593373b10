import EventStream
import EventTopics
import Logging

/// Revokes all grants of a user whose account was deleted or disabled, until it is enabled again.
struct AuthEventsHandler: EventHandler {
    let decider: Decider
    let logger: Logger

    func handle(_ events: [ReceivedEvent<AuthEvent>]) async throws {
        for event in events {
            let (app, user) = (event.payload.app, event.payload.userID)
            switch event.payload.kind {
            case .userDeleted, .userDisabled: try await decider.shutOut(app: app, user: user)
            // The rules are evaluated again for an enabled user at the next question.
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

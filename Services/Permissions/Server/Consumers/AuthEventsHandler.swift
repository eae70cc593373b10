import EventStream
import EventTopics
import Logging

/// Takes everything away from a user whose account is deleted or disabled.
struct AuthEventsHandler: EventHandler {
    let decider: Decider
    let logger: Logger

    func handle(_ events: [ReceivedEvent<AuthEvent>]) async throws {
        for event in events {
            switch event.payload.kind {
            case .userDeleted: try await decider.revokeAll(app: event.payload.app, user: event.payload.userID)
            default: break
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

import AppDefinition
import AppRegistry
import DocumentModel
import EventStream
import EventTopics
import Logging

/// Runs authentication triggers, those for the events of one user in order.
struct AuthenticationTriggersHandler: EventHandler {
    let apps: AppDirectory
    let runner: TriggerRunner
    let missed: MissedEvents
    let logger: Logger

    /// How far the clock of the process that made an account may be behind Postgres', in milliseconds.
    private static let clockTolerance: Int64 = 60_000

    func share(of event: ReceivedEvent<AuthEvent>) -> String { event.payload.app }

    func handle(_ events: [ReceivedEvent<AuthEvent>]) async throws {
        try await apps.refresh()  // as for events of documents
        try apps.requireReadable(events.map { ExactText($0.payload.app) })
        for event in events.map(\.payload) {
            guard let app = apps.app(event.app), let operation = event.kind.operationType else { continue }
            for trigger in app.definition.triggers {
                guard !trigger.isDisabled, case .authentication(let condition) = trigger.event,
                    condition.operation.rawValue == operation,
                    event.time + Self.clockTolerance >= app.beginning(of: trigger.name),
                    condition.providers.isEmpty || event.providers.contains(where: condition.providers.containsExactly)
                else { continue }
                let run = TriggerEvent(id: event.id, argument: condition.argument(for: event), time: event.time)
                if try await missed.take(.account(run), id: event.id, time: event.time, for: trigger, of: app) {
                    continue
                }
                try await runner.run(trigger, of: app, on: run)
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

extension TriggerDefinition.Authentication {
    /// The function's argument.
    fileprivate func argument(for event: AuthEvent) -> Document {
        // Functions for new users are written for the user itself (`user.id`) or, as a comment in exports shows, for `{user}`.
        var argument =
            givesUserOnly
            ? event.user
            : [
                "operationType": .string(event.kind.operationType ?? ""),
                "providers": .array(event.providers.map { .string($0) }), "time": .date(event.time),
            ]
        argument["user"] = .document(event.user)
        return argument
    }
}

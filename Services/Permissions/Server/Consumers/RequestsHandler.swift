import AppRegistry
import DocumentModel
import EventStream
import EventTopics

/// Answers `permission-requests`; apps, and the users of an app, take turns. A question that has waited too long is dropped: the
/// gateway has asked again by then.
struct RequestsHandler: EventHandler {
    let decider: Decider
    let apps: AppDirectory
    let clock: WallClock
    private static let patience: Int64 = 30_000

    /// An app's rules may hang, and a user may ask about a thousand partitions: neither delays other apps or users.
    func share(of event: ReceivedEvent<PermissionRequest>) -> String { event.payload.app }
    func member(of event: ReceivedEvent<PermissionRequest>) -> String? { event.payload.user }

    func handle(_ events: [ReceivedEvent<PermissionRequest>]) async throws {
        let oldest = clock.now() - Self.patience
        // The newest of a pair speaks for all: they have the same lane.
        var latest: [Subject: PermissionRequest] = [:]
        for event in events where event.payload.time >= oldest {
            let request = event.payload
            latest[Subject(app: request.app, user: request.user, partition: request.partition)] = request
        }
        // Who asks because of a deployment must not get the former version's answer again.
        if !latest.isEmpty { try await apps.refresh() }
        for (subject, request) in latest { try await decider.decide(subject, claims: request.claims) }
    }

    func deadLetter(_ letter: DeadLetter<PermissionRequest>) async throws {
        PermissionsMetrics.droppedRequests.increment()
    }
}

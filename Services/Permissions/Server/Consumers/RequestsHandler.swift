import AppRegistry
import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Logging
import ServiceEngines

/// Answers `permission-requests`; apps, and the users of an app, take turns. A question that has waited too long is dropped: the
/// gateway has asked again by then.
struct RequestsHandler: EventHandler {
    let decider: Decider
    let apps: AppDirectory
    let clock: WallClock
    private static let patience: Int64 = 30_000
    /// By how much the clock of a gateway's machine may differ from this one: each may differ from Postgres' by half of that.
    private static let clockDifference = 2 * ClockComparison.tolerance
    let logger: Logger
    private let dropped = Locked(FailureChanges())

    /// An app's rules may hang, and a user may ask about a thousand partitions: neither delays other apps or users.
    func share(of event: ReceivedEvent<PermissionRequest>) -> String { event.payload.app }
    func member(of event: ReceivedEvent<PermissionRequest>) -> String? { event.payload.user }

    func handle(_ events: [ReceivedEvent<PermissionRequest>]) async throws {
        let oldest = clock.now() - Self.patience - Self.clockDifference
        // The newest of a pair speaks for all: they have the same lane.
        var latest: [Subject: PermissionRequest] = [:]
        for event in events where event.payload.time >= oldest {
            let request = event.payload
            latest[Subject(app: request.app, user: request.user, partition: request.partition)] = request
        }
        if let late = events.first(where: { $0.payload.time < oldest })?.payload {
            PermissionsMetrics.droppedRequests.increment()
            let isNew = dropped.withLock { $0.isNew("late", again: .seconds(60)) }
            logger.log(
                level: isNew ? .warning : .debug, "questions are too old, or clocks differ, and are dropped",
                metadata: ["app.id": "\(late.app)", "asked.at": "\(late.time)", "oldest": "\(oldest)"])
        }
        // Who asks because of a deployment must not get the former version's answer again.
        if !latest.isEmpty { try await apps.refresh() }
        for (subject, request) in latest { try await decider.decide(subject, claims: request.claims) }
    }

    func deadLetter(_ letter: DeadLetter<PermissionRequest>) async throws {
        PermissionsMetrics.droppedRequests.increment()
    }
}

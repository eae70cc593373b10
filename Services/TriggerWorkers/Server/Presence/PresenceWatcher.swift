import EventStream
import EventTopics
import Lifecycle
import Logging
import Presence

/// Flips devices to offline whose lease has expired. Several workers may run: each claims the leases that it handles, and those
/// that it doesn't finish are claimed by another one.
struct PresenceWatcher: Service {
    let leases: PresenceLeases
    let events: EventProducer
    private let report: FailureReport

    private static let retry = Duration.milliseconds(250)
    private static let batch = 500

    init(leases: PresenceLeases, events: EventProducer, logger: Logger) {
        self.leases = leases
        self.events = events
        report = FailureReport("expired-presence", logger: logger)
    }

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            while !Task.isCancelled {
                try await Task.sleep(for: await takeBatch())
            }
        }
    }

    /// - Returns: the time after which there may be more.
    private func takeBatch() async -> Duration {
        do {
            let (flips, next) = try await leases.claimExpired(limit: Self.batch, claimTime: .seconds(10))
            if !flips.isEmpty {
                try await events.send(flips.map { PresenceEvent(expired: $0) }).requireAll()
                try await leases.confirm(flips.map(\.member))
                TriggerMetrics.expirations.increment(by: flips.count)
            }
            report.succeeded("expired leases are handled again")
            // Redis counts whole milliseconds, and its clock differs from this one.
            return flips.isEmpty ? next + .milliseconds(5) : .zero
        } catch {
            report.failed("expired leases wait, so that users stay online", error)
            return Self.retry
        }
    }
}

extension PresenceEvent {
    /// The event of a device whose lease expired without a disconnection.
    init(expired flip: PresenceFlip) {
        self.init(
            app: flip.member.app, user: flip.member.user, device: flip.member.device, state: .offline, why: .expired,
            isUserOnline: flip.isUserOnline, lastSeen: flip.time, version: flip.version)
    }
}

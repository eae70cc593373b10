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
    let logger: Logger

    private static let retry = Duration.milliseconds(250)
    private static let batch = 500

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
            // Redis counts whole milliseconds, and its clock differs from this one.
            if flips.isEmpty { return next + .milliseconds(5) }
            try await events.send(flips.map { PresenceEvent(expired: $0) }).requireAll()
            try await leases.confirm(flips.map(\.member))
            TriggerMetrics.expirations.increment(by: flips.count)
            return .zero
        } catch {
            logger.debug("expired leases wait", metadata: ["error": "\(error)"])
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

import EventStream
import EventTopics
import Lifecycle
import Logging
import Presence

/// Flips devices offline whose lease has run out. Several may run: each claims what it takes, and what it doesn't finish is claimed by
/// the next.
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

    /// - Returns: after which time there may be more.
    private func takeBatch() async -> Duration {
        do {
            let (flips, next) = try await leases.claimExpired(limit: Self.batch, claimTime: .seconds(10))
            // Redis' milliseconds are whole ones, and ours not the same ones.
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
    /// A device is gone that didn't say so.
    init(expired flip: PresenceFlip) {
        self.init(
            app: flip.member.app, user: flip.member.user, device: flip.member.device, state: .offline, why: .expired,
            isUserOnline: flip.isUserOnline, lastSeen: flip.time, version: flip.version)
    }
}

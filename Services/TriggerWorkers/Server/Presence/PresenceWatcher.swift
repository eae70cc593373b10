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

    /// How late an expiry is noticed.
    private static let interval = Duration.milliseconds(250)
    private static let batch = 500

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            while !Task.isCancelled {
                if await !takeBatch() { try await Task.sleep(for: Self.interval) }
            }
        }
    }

    /// - Returns: whether there may be more.
    private func takeBatch() async -> Bool {
        do {
            let flips = try await leases.claimExpired(limit: Self.batch, claimTime: .seconds(10))
            if flips.isEmpty { return false }
            try await events.send(flips.map { PresenceEvent(expired: $0) }).requireAll()
            try await leases.confirm(flips.map(\.member))
            TriggerMetrics.expirations.increment(by: flips.count)
            return flips.count == Self.batch
        } catch {
            logger.debug("expired leases wait", metadata: ["error": "\(error)"])
            return false
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

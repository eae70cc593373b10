import EventStream
import EventTopics
import Lifecycle
import Logging
import Postgres
import Presence

/// Marks users as offline who left while Redis was unavailable and lost their leases: those can't expire any more, so nothing else
/// would detect that these users have left.
///
/// It also looks for them every hour, whatever the reason was.
///
/// Devices that are still connected have new leases within the leases' lifetime, so it waits that long. Only one worker does this
/// at a time.
struct PresenceRepair: Service {
    let leases: PresenceLeases
    let ttl: Duration
    let client: PostgresClient
    let events: EventProducer
    let logger: Logger

    private static let interval = Duration.seconds(1)
    private static let batch: Int64 = 500
    private static let look = Duration.seconds(3600)

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            let report = FailureReport("presence-repair", logger: logger)
            var nextLook = ContinuousClock.now + Self.look
            while !Task.isCancelled {
                do {
                    // If this worker ends in between, another one takes over.
                    if try await leases.claimForgotten(claimTime: ttl + .seconds(60)) {
                        // No event reports that all connected devices have new leases, so this waits for the leases' lifetime.
                        try await Task.sleep(for: ttl)
                        try await repair()
                        try await leases.remember()
                    } else if ContinuousClock.now >= nextLook {
                        try await repair()
                        nextLook = .now + Self.look
                    }
                    report.succeeded("users recorded as online can be checked again")
                } catch {
                    report.failed("users recorded as online can't be checked now", error)
                }
                // Redis doesn't report that it has lost its data, either: a restart looks like a lost connection.
                try await Task.sleep(for: Self.interval)
            }
        }
    }

    private func repair() async throws {
        var (app, user) = ("", "")
        var count = 0
        while true {
            let rows = try await client.query(
                """
                select app, user_id, online_device from partita.presence_written
                where online_device is not null and (app, user_id) > ($1, $2) order by app, user_id limit $3
                """, [.text(app), .text(user), .int(Self.batch)])
            let members = try rows.decode((String, String, String).self).map {
                PresenceMember(app: $0, user: $1, device: $2)
            }
            guard let last = members.last else { break }
            (app, user) = (last.app, last.user)
            let flips = try await leases.absent(members)
            try await events.send(flips.map { PresenceEvent(expired: $0) }).requireAll()
            count += flips.count
        }
        guard count > 0 else { return }
        TriggerMetrics.expirations.increment(by: count)
        logger.notice("users went offline, and nothing had told it", metadata: ["count": "\(count)"])
    }
}

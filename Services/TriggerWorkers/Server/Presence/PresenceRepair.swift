import EventStream
import EventTopics
import Lifecycle
import Logging
import Postgres
import Presence

/// Takes users offline who went while Redis was away and has forgotten them: their leases can't run out any more, and nobody else would
/// notice.
///
/// Devices that are still connected have new leases within the leases' time, so it waits that long. One worker does it at a time.
struct PresenceRepair: Service {
    let leases: PresenceLeases
    let ttl: Duration
    let client: PostgresClient
    let events: EventProducer
    let logger: Logger

    private static let interval = Duration.seconds(1)
    private static let batch: Int64 = 500

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            while !Task.isCancelled {
                do {
                    // Who ends in the middle leaves it to the next one.
                    if try await leases.claimForgotten(claimTime: ttl + .seconds(60)) {
                        // No event tells that the last of those who are still there has a new lease; only its time does.
                        try await Task.sleep(for: ttl)
                        try await repair()
                        try await leases.remember()
                    }
                } catch {
                    logger.debug("who is online can't be looked through", metadata: ["error": "\(error)"])
                }
                // Nor does Redis tell that it has forgotten: a restart looks like a connection that was cut.
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
        logger.notice("users went offline while Redis was away", metadata: ["count": "\(count)"])
    }
}

import EventLoop
import Grants
import Lifecycle
import Logging
import ServiceBootstrap

/// Keeps the gateway in the registry, and notifies its sessions when the lease expires and when it is valid again.
struct LeaseWatch: Service, PositionedFeed {
    let lease: GrantLease
    let registry: GatewayRegistry
    let gateway: String
    let sessions: SessionHall
    let readiness: Readiness
    let logger: Logger

    /// The component's name in the service's readiness.
    static let name = "grants"

    /// Returns when the gateway is in the registry. Devices are admitted afterwards, so no revocation misses them.
    func waitUntilPositioned() async throws {
        // Postgres may be restarted while the gateway starts.
        var backoff = RetryBackoff(.reconnecting)
        while try await !enter() { try await Task.sleep(for: backoff.next()) }
    }

    /// - Returns: whether the gateway is in the registry.
    /// - Throws: `CancellationError`.
    private func enter() async throws -> Bool {
        do {
            try await registry.enter(gateway)
        } catch let error where !(error is CancellationError) {
            // The next attempt may succeed; the lease outlasts a few failed ones.
            logger.warning("the registry of gateways can't be reached", metadata: ["error": "\(error)"])
            return false
        }
        lease.registered(for: GatewayRegistry.validity)
        return true
    }

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            await withTaskGroup { group in
                group.addTask { await self.watch() }
                group.addTask { await self.stayRegistered() }
            }
        }
        // Nothing is served any more: revocations needn't wait for this gateway.
        lease.end()
        do {
            try await registry.leave(gateway)
        } catch {
            logger.debug("the gateway stays in the registry for a while", metadata: ["error": "\(error)"])
        }
    }

    private func stayRegistered() async {
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: GatewayRegistry.signInterval)
                _ = try await enter()
            } catch {
                return  // cancelled
            }
        }
    }

    /// Ends when the task is cancelled.
    private func watch() async {
        var wasValid: Bool?
        var isValid: Bool
        repeat {
            isValid = lease.isValid
            if isValid != wasValid {
                wasValid = isValid
                changed(to: isValid)
            } else if isValid, lease.takeMissed() {
                sessions.leaseChanged()
            }
        } while (try? await lease.mayHaveChanged(from: isValid)) != nil
    }

    private func changed(to isValid: Bool) {
        if isValid {
            readiness.set(Self.name, .ready)
            logger.notice("heartbeats of permissions arrive, partitions are served")
        } else {
            readiness.set(
                Self.name,
                .notReady(
                    "no new heartbeats of permissions on every Kafka partition of the grants, or clocks that differ by seconds"
                ))
            logger.warning("heartbeats of permissions are missing, partitions are suspended")
        }
        sessions.leaseChanged()
    }
}

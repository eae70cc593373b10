import Grants
import Lifecycle
import Logging
import ServiceBootstrap

/// Keeps the gateway in the registry, and tells its sessions when the lease runs out and when it is there again.
struct LeaseWatch: Service, PositionedFeed {
    let lease: GrantLease
    let registry: GatewayRegistry
    let gateway: String
    let sessions: SessionHall
    let readiness: Readiness
    let logger: Logger

    /// In the service's readiness.
    static let name = "grants"

    /// Returns when the gateway is in the registry: devices are let in afterwards, so no revocation overlooks them.
    func waitUntilPositioned() async throws {
        try await registry.enter(gateway)
        lease.registered(for: GatewayRegistry.validity)
    }

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            await withTaskGroup { group in
                group.addTask { await self.watch() }
                group.addTask { await self.stayRegistered() }
            }
        }
        // Nothing is served any more: nobody has to wait for this gateway.
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
                try await waitUntilPositioned()
            } catch is CancellationError {
                return
            } catch {
                // The next one may succeed; the lease outlasts a few that don't.
                logger.warning("the registry of gateways can't be reached", metadata: ["error": "\(error)"])
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
            logger.notice("permissions is heard, partitions are served")
        } else {
            readiness.set(Self.name, .notReady("permissions isn't heard on every partition of the grants"))
            logger.warning("permissions isn't heard, partitions are suspended")
        }
        sessions.leaseChanged()
    }
}

import Lifecycle
import Logging

/// Logs when a component that was ready isn't any more, and when it is again. An engine that hangs causes no errors, so that
/// nothing else is logged until the first wait for it times out.
package struct ReadinessLog: Service {
    private let readiness: Readiness
    private let interval: Duration
    private let logger: Logger

    package init(_ readiness: Readiness, interval: Duration = .seconds(10), logger: Logger) {
        self.readiness = readiness
        self.interval = interval
        self.logger = logger
    }

    package func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            /// The components that have been ready. Until then, `waitUntilReady` logs why they aren't.
            var known: Set<String> = []
            var away: Set<String> = []
            while !Task.isCancelled {
                try await Task.sleep(for: interval)
                for (name, status, _) in await readiness.report().components {
                    switch status {
                    case .ready:
                        known.insert(name)
                        guard away.remove(name) != nil else { continue }
                        logger.notice("component is ready again", metadata: ["component": "\(name)"])
                    case .notReady(let reason):
                        guard known.contains(name), away.insert(name).inserted else { continue }
                        logger.warning(
                            "component isn't ready any more", metadata: ["component": "\(name)", "error": "\(reason)"])
                    }
                }
            }
        }
    }
}

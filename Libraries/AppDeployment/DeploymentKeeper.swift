import DocumentStore
public import Lifecycle
public import Logging
import Postgres

/// Finishes deployments whose process ended before it had done everything: documents are moved into the partitions of the current version,
/// and indexes that were built for a version that isn't deployed, or that only the former one declared, are dropped. Several processes may
/// do this; the lock of deployments keeps them apart.
public struct DeploymentKeeper: Service {
    private let deployments: AppDeployments
    private let interval: Duration
    private let logger: Logger

    public init(_ deployments: AppDeployments, interval: Duration = .seconds(30), logger: Logger) {
        self.deployments = deployments
        self.interval = interval
        self.logger = logger
    }

    /// Works until graceful shutdown or cancellation.
    public func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            while true {
                try await Task.sleep(for: interval)
                do {
                    for app in try await deployments.finishAll() {
                        logger.notice("an unfinished deployment was finished", metadata: ["app.id": "\(app)"])
                    }
                } catch {
                    logger.warning("unfinished deployments wait", metadata: ["error": "\(error)"])
                }
            }
        }
    }
}

extension AppDeployments {
    /// Finishes the unfinished deployments that no process is working on.
    /// - Returns: the apps that were deployed.
    public func finishAll() async throws -> [String] {
        let store = DocumentStore(client: client)
        let apps = Set(texts: try await registry.placingApps() + store.appsWithLooseIndexes()).sortedTexts
        var finished: [String] = []
        for app in apps where try await !DeploymentLock.isHeld(app, on: client) {
            // A service with an older version would still write into the former partitions.
            if let version = try await registry.versions()[app],
                try await !registry.instances(of: app, before: version).isEmpty
            {
                continue
            }
            do {
                try await DeploymentLock.hold(app, as: by, on: client, waitingFor: .zero, waiting: { _ in }) { _ in
                    _ = try await finish(app)
                }
                finished.append(app)
            } catch let error as DeploymentError where error.code == .deploymentRunning {
                continue  // another process was faster
            }
        }
        return finished
    }
}

import DocumentModel
import DocumentStore

extension AppDeployments {
    /// What was removed.
    public struct Removal: Sendable {
        /// How many documents were deleted.
        public let deletedDocuments: Int
        public let warnings: [String]
    }

    /// Removes an app from all services: devices and clients are refused, and triggers no longer run. Its users, secrets and history stay,
    /// and so do its documents, unless they are to be deleted. A later deployment of the same id finds what has stayed.
    ///
    /// Documents are deleted once no service runs the app any more, like any others: devices that come back after a later deployment
    /// remove theirs. No trigger runs. Media that were moved to the object store stay there.
    ///
    /// - Parameters:
    ///   - deletesDocuments: also for an app that was removed before.
    ///   - serviceLimit: how long to wait until services have stopped it.
    /// - Throws: `DeploymentError`: `appUnknown`; `deploymentRunning`; `lockLost`; `appInUse` when a service still runs the app, so that no document was
    ///   deleted.
    public func remove(
        _ app: String, deletesDocuments: Bool = false, lockLimit: Duration = .seconds(60),
        serviceLimit: Duration = .seconds(10), waiting: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> Removal {
        try await prepare()
        return try await DeploymentLock.hold(
            app, as: by, on: client, waitingFor: lockLimit, waiting: waiting
        ) { lock in
            guard let last = try await registry.lastVersion(of: app) else { throw try await unknown(app) }
            let wasDeployed = try await registry.remove(app) { transaction in
                try await lock.check(in: transaction, consequence: "nothing was changed; remove it again")
            }
            guard wasDeployed || deletesDocuments else {
                throw DeploymentError(
                    .appUnknown, "\(app) was removed before; --documents deletes the documents that it has left")
            }
            var warnings: [String] = []
            if wasDeployed, let warning = await announce(app, nil) { warnings.append(warning) }
            let late = try await waitForServices(app, version: nil, limit: serviceLimit)
            let names = late.map(\.name).joined(separator: ", ")
            if !late.isEmpty {
                guard !deletesDocuments else {
                    throw DeploymentError(
                        .appInUse,
                        "\(app) is removed, but \(names) still run it after \(serviceLimit.components.seconds) s, so no document was deleted: try again when they have stopped"
                    )
                }
                warnings.append("warning: \(names) still run it, and stop as soon as they can")
            }
            guard deletesDocuments else { return Removal(deletedDocuments: 0, warnings: warnings) }
            // Without the lock, somebody may have deployed the app again.
            let count = try await store(last.definition).deleteAll(of: app) { transaction in
                try await lock.check(
                    in: transaction,
                    consequence:
                        "the app is removed, and not all of its documents are deleted; remove it again with --documents, unless somebody has deployed it since"
                )
            }
            return Removal(deletedDocuments: count, warnings: warnings)
        }
    }

    /// How many documents an app has.
    public func documentCount(of app: String) async throws -> Int {
        try await prepare()
        guard let last = try await registry.lastVersion(of: app) else { throw try await unknown(app) }
        return try await store(last.definition).documentCount(of: app)
    }

    private func unknown(_ app: String) async throws -> DeploymentError {
        let ids = try await registry.versions().keys.sorted().map(\.text)
        return DeploymentError(
            .appUnknown,
            "no app \(app) was ever deployed" + (ids.isEmpty ? "" : "; there are: \(ids.joined(separator: ", "))"))
    }
}

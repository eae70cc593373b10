import AppDefinition
import AppRegistry
import DocumentModel
import EventLoop
import Logging
import RealmSync

/// The classes of an app's synced collections, made once for each deployment.
final class RealmClasses: Sendable {
    /// The classes of one deployment.
    struct Deployed: Sendable {
        let version: Int64
        let synced: SyncedClasses
        /// The collections' names, as a JSON array in the order of their bytes.
        let names: String
        let partitionKey: String
        let database: String
        let isInDevelopment: Bool

        /// Where clients of a partition write.
        func target(_ partition: Partition) -> UploadTarget {
            UploadTarget(
                database: database, collections: synced.collections, partitionKey: partitionKey,
                partition: partition.value ?? .null, isInDevelopment: isInDevelopment)
        }
    }

    private let apps: AppDirectory
    private let deployed = Locked<[ExactText: Deployed]>([:])

    private let logger: Logger

    init(apps: AppDirectory, logger: Logger) {
        self.apps = apps
        self.logger = logger
    }

    /// - Returns: `nil` if the app isn't deployed, or its sync is off.
    func classes(of app: String) -> Deployed? {
        guard let deployment = apps.app(app), let sync = deployment.definition.sync, sync.isEnabled else { return nil }
        return deployed.withLock { deployed in
            if let known = deployed[ExactText(app)], known.version == deployment.version { return known }
            let made = make(deployment, sync)
            deployed[ExactText(app)] = made
            return made
        }
    }

    private func make(_ deployment: DeployedApp, _ sync: SyncConfiguration) -> Deployed {
        let synced = deployment.definition.syncedClasses
        for part in synced.unfit {
            logger.notice(
                "a part of a schema isn't served to Realm clients",
                metadata: ["app": "\(deployment.id)", "collection": "\(part.collection)", "error": "\(part)"])
        }
        let names = synced.classes.keys.sorted().map { Value.string($0.text) }
        return Deployed(
            version: deployment.version, synced: synced, names: ExtendedJSON.print(.array(names)),
            partitionKey: sync.partitionKey, database: sync.database,
            isInDevelopment: sync.isInDevelopment)
    }
}

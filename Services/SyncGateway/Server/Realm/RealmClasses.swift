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
        let schema: ObjectSchema
        /// The changeset that makes them, as histories note it.
        let schemaBytes: [UInt8]
        /// The collections' names by their classes', and the other way round.
        let collections: [ExactText: String]
        let classes: [ExactText: String]
        let partitionKey: String
        let database: String
    }

    private let apps: AppDirectory
    private let deployed = Locked<[ExactText: Deployed]>([:])

    private let logger: Logger

    init(apps: AppDirectory, logger: Logger) {
        self.apps = apps
        self.logger = logger
    }

    /// - Returns: `nil` if the app isn't deployed or doesn't sync.
    func classes(of app: String) -> Deployed? {
        guard let deployment = apps.app(app), let sync = deployment.definition.sync else { return nil }
        return deployed.withLock { deployed in
            if let known = deployed[ExactText(app)], known.version == deployment.version { return known }
            let made = make(deployment, sync)
            deployed[ExactText(app)] = made
            return made
        }
    }

    private func make(_ deployment: DeployedApp, _ sync: SyncConfiguration) -> Deployed {
        let collections = deployment.definition.collections.filter {
            $0.service.hasSameBytes(as: sync.service) && $0.database.hasSameBytes(as: sync.database)
        }.compactMap { collection in
            collection.schema.map { schema in
                CollectionClass(
                    collection: collection.name, schema: schema.source,
                    relationships: Dictionary(
                        collection.relationships.map { (ExactText($0.field), ExactText($0.collection)) }
                    ) { first, _ in first })
            }
        }
        let (schema, unfit) = ObjectSchema.reading(collections)
        for part in unfit {
            logger.notice(
                "a part of a schema isn't served to Realm clients",
                metadata: ["app": "\(deployment.id)", "collection": "\(part.collection)", "error": "\(part)"])
        }
        let known = collections.filter { schema.classes[ExactText($0.name)] != nil }
        return Deployed(
            version: deployment.version, schema: schema,
            schemaBytes: schema.changeset().encoded(),
            collections: Dictionary(known.map { (ExactText($0.name), $0.collection) }) { first, _ in first },
            classes: Dictionary(known.map { (ExactText($0.collection), $0.name) }) { first, _ in first },
            partitionKey: sync.partitionKey, database: sync.database)
    }
}

public import AppDefinition
public import AppRegistry
import DocumentModel
import DocumentSchema
import DocumentStore
import Postgres
import ServiceEngines
import SyncEngine

extension AppDeployments {
    /// How an app is deployed.
    public struct Options: Sendable {
        /// What the history says about the version.
        public var message: String?
        /// Whether documents may leave the partitions in which devices have them.
        public var mayRepartition = false
        /// Whether the schema may be one that stored documents, or those of older versions of the app, violate.
        public var mayBreakSchema = false
        /// Changes nothing, and says what a deployment would.
        public var isDryRun = false
        /// How long to wait for another deployment of the app.
        public var lockLimit = Duration.seconds(60)
        /// How long to wait until running services have the new version.
        public var serviceLimit = Duration.seconds(10)
        /// Called when another deployment is waited for, with a text that says whose.
        public var waiting: @Sendable (String) -> Void = { _ in }

        public init() {}
    }

    /// A deployment, and what is to be said of it.
    public struct Outcome: Sendable {
        /// What is deployed; after a dry run, what was before, or `nil`.
        public let app: DeployedApp?
        public let definition: AppDefinition
        public let isNew: Bool
        public let warnings: [String]
        /// The lines of `AppReport`.
        public let report: [String]
        /// How many running processes of services have the version.
        public let serviceCount: Int
        /// What the documents that are stored have to do with it.
        public let impact: DeploymentImpact
        /// Of a dry run: why the deployment would be refused with these options.
        public var refusal: DeploymentError?
    }

    /// Deploys an app: everything is checked first, and an app with an error changes nothing.
    ///
    /// One deployment of an app runs at a time. The new version takes effect in one transaction, with its schemas, partition keys and indexes:
    /// a process that ends anywhere leaves either version. What has to follow, the move of documents into other partitions and the removal of
    /// indexes, is finished by the next deployment or by `DeploymentKeeper`.
    ///
    /// - Throws: `AppDefinitionError` with every problem and its place; `DeploymentError`.
    public func deploy(_ files: AppFiles, _ options: Options = Options()) async throws -> Outcome {
        let inspection = try await inspect(files)
        try await prepare()
        if options.isDryRun { return try await tryOut(inspection, options) }
        return try await DeploymentLock.hold(
            inspection.definition.id, as: by, on: client, waitingFor: options.lockLimit, waiting: options.waiting
        ) { lock in
            try await deploy(inspection, restoring: nil, options, lock)
        }
    }

    /// Deploys a former version again, as a new one and through the same checks.
    /// - Parameter number: that of the version; `nil` stands for the one before the version that is current at the call. If another
    ///   deployment, for which this one waits, replaces that, nothing is deployed: of two people who undo a version at the same time, the
    ///   second would bring it back.
    /// - Throws: as `deploy(_:_:)`; `DeploymentError` with code `versionChanged`; `AppRegistryError` when the history doesn't have the
    ///   version.
    public func rollBack(_ app: String, to number: Int64?, _ options: Options = Options()) async throws -> Outcome {
        try await prepare()
        let seen = try await deployedVersion(of: app)
        if options.isDryRun { return try await tryOut(try await former(number, of: app, at: seen).inspection, options) }
        return try await DeploymentLock.hold(
            app, as: by, on: client, waitingFor: options.lockLimit, waiting: options.waiting
        ) { lock in
            let (number, inspection) = try await former(number, of: app, at: seen)
            return try await deploy(inspection, restoring: number, options, lock)
        }
    }

    /// A former version, checked.
    /// - Parameter seen: the version that was current when the caller chose; it matters only without a number.
    private func former(
        _ number: Int64?, of app: String, at seen: Int64
    ) async throws -> (number: Int64, inspection: AppDefinition.Inspection) {
        let current = try await deployedVersion(of: app)
        guard number != nil || current == seen else {
            throw DeploymentError(
                .versionChanged,
                "version \(current) of \(app) was deployed in place of \(seen), which was to be undone: nothing was changed; look at the history and name a version"
            )
        }
        let before = try await registry.history(of: app).first { $0.number < current }?.number
        guard let number = number ?? before else {
            throw DeploymentError(.versionUnknown, "\(app) has no version before \(current)")
        }
        return (number, try await inspect(try await registry.version(number, of: app).files))
    }

    func inspect(_ files: AppFiles) async throws -> AppDefinition.Inspection {
        let inspection = try await AppCheck.inspect(files, on: loop)
        guard inspection.isDeployable else { throw AppDefinitionError(problems: inspection.problems) }
        return inspection
    }

    /// The most characters of a version's message; the rest is cut off.
    public static let messageLimit = 1000

    private func tryOut(
        _ inspection: AppDefinition.Inspection, _ options: Options
    ) async throws -> Outcome {
        let definition = inspection.definition
        try await requireOwnHost(definition.id)
        let former = try await registry.lastVersion(of: definition.id)
        _ = try DeclaredIndexes(definition, formerly: former?.definition)
        let impact = try await impact(of: definition, after: former?.definition)
        let present = try await registry.load(definition.id)
        let endings = try await endings(of: present?.definition, with: definition)
        return Outcome(
            app: present, definition: definition, isNew: false,
            warnings: inspection.problems.map(\.description) + endings, report: [],
            serviceCount: 0, impact: impact,
            refusal: impact.refusal(options))
    }

    func deploy(
        _ inspection: AppDefinition.Inspection, restoring number: Int64?, _ options: Options, _ lock: DeploymentLock
    ) async throws -> Outcome {
        let definition = inspection.definition
        let id = definition.id
        let storage = AppStorage(definition)
        try await requireOwnHost(id)
        try await finish(id)
        let former = try await registry.lastVersion(of: id)?.definition
        let indexes = try DeclaredIndexes(definition, formerly: former)
        let impact = try await impact(of: definition, after: former)
        try impact.requireAllowed(options)
        // Readers of the present version don't use them, and a table that is made for them has its partition key.
        let current = try await registry.load(id)?.definition
        let present = store(current ?? definition)
        let movesDocuments = former.map { !AppStorage($0).hasSamePartitions(as: storage) } ?? true
        let record = DeploymentRecord(
            message: options.message.map { String($0.prefix(Self.messageLimit)) }, by: by, restores: number,
            movesDocuments: movesDocuments)
        let endings = try await endings(of: current, with: definition)
        let result: (app: DeployedApp, isNew: Bool)
        do {
            try await present.stageIndexes(indexes.wanted, without: indexes.gone, of: id, failed: indexes.failure)
            result = try await registry.deploy(definition, as: record) { transaction in
                try await lock.check(in: transaction)
                try await DocumentStore.setSchemas(definition.schemas, app: id, in: transaction)
                try await DocumentStore.setPartitionKeys(of: storage, in: transaction)
                try await DocumentStore.adoptStagedIndexes(without: indexes.gone, of: id, in: transaction)
            }
        } catch {
            try? await present.clearIndexes(of: id)  // otherwise the next deployment does it
            throw error
        }
        var warnings = inspection.problems.map(\.description) + endings
        if let warning = await announce(id, result.app) { warnings.append(warning) }
        let late = try await waitForServices(id, version: result.app.version, limit: options.serviceLimit)
        for instance in late {
            let present = instance.version == 0 ? "hasn't loaded the app" : "still has version \(instance.version)"
            warnings.append(
                "warning: \(instance.name) \(present) after \(options.serviceLimit.components.seconds) s; it loads version \(result.app.version) as soon as it can"
            )
        }
        let serviceCount = try await registry.instanceCount(of: id, with: result.app.version)
        warnings += try await finish(id)
        let known = try await registry.secretNames(of: id)
        for name in definition.secretNames where !known.contains(name) {
            warnings.append(
                "warning: the secret \(name) isn't set; `partita secret set \(name) --app \(id)` sets it")
        }
        return Outcome(
            app: result.app, definition: result.app.definition, isNew: result.isNew, warnings: warnings,
            report: AppReport(
                definition, problems: inspection.problems, secrets: known,
                hostingPlace: hosting.map { "at \($0.origin(of: id))" } ?? "not served before hosting.url is set"
            ).lines,
            serviceCount: serviceCount, impact: impact)
    }

    /// A warning of events that wait for triggers which the present version has and the next one ends: they won't run.
    private func endings(of present: AppDefinition?, with next: AppDefinition) async throws -> [String] {
        let ending = (present?.triggers ?? []).filter { trigger in
            guard !trigger.isDisabled, case .database = trigger.event else { return false }
            return next.trigger(trigger.name)?.continues(trigger) != true
        }
        if ending.isEmpty { return [] }
        let waiting = try await changesBeforeTriggers(of: next.id)
        if waiting == 0 { return [] }
        return [
            "warning: \(waiting) changes of documents wait for the triggers of \(next.id): this version has no \(ending.map(\.name).joined(separator: ", ")) for the same events, so that these don't run for those among them; to have them run, deploy when `partita triggers` names no waiting changes"
        ]
    }

    /// Hosts have no case, and no two apps share one.
    private func requireOwnHost(_ id: String) async throws {
        let others = try await client.query(
            "select id from partita.apps where lower(id) = lower($1) and id <> $1 and not is_removed", [.text(id)])
        guard let other = try others.first?.decode(0, as: String.self) else { return }
        throw DeploymentError(
            .idTaken,
            "the id \(id) differs from that of the app \(other) only in case: choose another one with --app-id")
    }

    /// Does what a deployment has left to do: moves documents into their partitions, and drops indexes that no version has. While a service
    /// still works with an older version, which may write into other partitions, the documents are to be moved again.
    /// - Returns: a line for each collection of which documents were moved.
    @discardableResult
    func finish(_ app: String) async throws -> [String] {
        try await DocumentStore(client: client).clearIndexes(of: app)
        guard let deployed = try await registry.load(app) else { return [] }
        let store = store(deployed.definition)
        // Asked before documents are moved: what such a service writes meanwhile may be missed.
        let isLast = try await registry.instances(of: app, before: deployed.version).isEmpty
        let isComplete = try await registry.placingApps().containsExactly(app)
        let moved = try await store.repartition(app: app, isComplete: isComplete)
        if isComplete, isLast { try await registry.placed(app, version: deployed.version) }
        return moved.map {
            "\($0.count) documents of \($0.namespace.database).\($0.namespace.collection) are in other partitions now"
        }
    }
}

extension AppDefinition {
    /// The schemas by collection.
    var schemas: [ChangeEvent.Namespace: DocumentSchema] {
        Dictionary(
            collections.compactMap { collection in
                collection.schema.map {
                    (ChangeEvent.Namespace(database: collection.database, collection: collection.name), $0)
                }
            }, uniquingKeysWith: { first, _ in first })
    }
}

import ChangeStream
import DocumentStore
import EventLoop
import EventStream
import EventTopics
import Grants
import HTTPClient
import HTTPServer
public import Lifecycle
public import ServiceBootstrap
import ServiceEngines

/// The media offload service.
public enum MediaOffloadServer {
    static let directory = ConfigurationKey<String>.string(
        "media.directory", default: "media", "Where objects are kept as files while `s3.endpoint` isn't set.")
    static let publicURL = ConfigurationKey<String>.url(
        "media.public-url", schemes: ["http", "https"], isBase: true, default: "http://127.0.0.1:8084",
        "The URL under which devices reach this service: links in documents begin with it.")
    static let linkLifetime = ConfigurationKey<Duration>.duration(
        "media.link-lifetime", default: .seconds(300), range: .seconds(5)...(.seconds(86_400)),
        "How long the object store's URL to which a link redirects is valid.")
    static let acceptStore = ConfigurationKey<Bool>.bool(
        "media.accept-store", default: false,
        "Whether a store that lacks the system's media takes the place of the one that had them: after they were lost, for one start."
    )
    static let concurrency = ConfigurationKey<Int>.int(
        "media.concurrency", default: 4, range: 1...64, "Documents whose media are moved at the same time.")

    /// The service's main program.
    public static let main = ServiceMain(
        name: "media-offload",
        summary: "Moves binaries out of documents into the object store, and serves them and apps' hosted files.",
        defaultPort: 8084,
        keys: EngineSettings.keys + [
            directory.description, publicURL.description, linkLifetime.description, acceptStore.description,
            concurrency.description,
        ] + S3Settings.keys)

    /// Creates the service.
    public static func make(_ context: inout ServiceContext) throws -> [any Service] {
        let storage: any ObjectStorage
        if let settings = S3Settings(context.configuration) {
            storage = settings.storage(on: context.loops.next())
        } else {
            storage = FileObjectStorage(directory: context.configuration[directory])
        }
        return try make(&context, storage: storage)
    }

    static func make(
        _ context: inout ServiceContext, storage: any ObjectStorage, thumbnailer: Thumbnailer = Thumbnailer()
    ) throws -> [any Service] {
        let engines = try ServiceEngines(context)
        let configuration = context.configuration
        let logger = context.logger
        let known = KnownStorage(
            storage, client: engines.postgres, acceptsOther: configuration[acceptStore], logger: logger)
        let breaker = StorageBreaker(known)
        let jobs = JobTable(client: engines.postgres)
        let table = MediaTable(client: engines.postgres)
        var base = configuration[publicURL]
        while base.hasSuffix("/") { base.removeLast() }
        let mover = MediaMover(
            store: engines.store, storage: breaker, table: table, events: engines.events, publicURL: base,
            logger: logger, thumbnailer: thumbnailer)
        let grants = GrantBook(
            client: engines.postgres, producer: engines.events, instance: engines.instance,
            budget: QuestionBudget(.standard), logger: logger)
        // Read only while a question is unanswered: permissions sends heartbeats on each Kafka partition of this topic
        // all the time.
        let answers = OnDemandTail<GrantsEvent>(pool: engines.pool, kafka: engines.reading, logger: logger) {
            grants.handle($0)
        }
        let route = MediaRoute(
            apps: engines.apps, access: engines.access, store: engines.store,
            table: table, grants: grants, answers: answers,
            storage: breaker, lifetime: configuration[linkLifetime])
        context.http.cors = CORSPolicy(apps: engines.apps, hosting: engines.hosting)
        context.router.get(MediaRoute.template) { try await route.handle($0) }
        let hosting = HostingRoute(
            address: engines.hosting, apps: engines.apps,
            sites: HostedSites(registry: engines.registry, apps: engines.apps),
            contents: HostedContents(registry: engines.registry))
        context.router.get(HostingRoute.template) { try await hosting.handle($0) }
        // Not required: media wait, and hosted files are served without it.
        context.readiness.add("object-store", isRequired: false) { try await known.check() }
        // But links of the right store would lead nowhere here.
        context.readiness.add("media-store") { try await known.refuseForeign() }
        // The store may be reachable but fail all writes, for example with a full disk.
        context.readiness.add("object-store-writes", isRequired: false) { try breaker.checkWrites() }
        let consumers = ServiceGroup(
            services: [
                ChangeConsumer(
                    pool: engines.pool, name: "media-offload", kafka: engines.kafka, postgres: engines.postgres,
                    source: ChangeHistory(client: engines.postgres, epoch: engines.epoch),
                    handler: ChangesHandler(
                        apps: engines.apps, table: jobs, events: engines.events, logger: logger),
                    logger: logger),
                EventConsumer(
                    pool: engines.pool, group: "media-offload-jobs", kafka: engines.kafka,
                    options: EventConsumerOptions(
                        concurrency: configuration[concurrency], retries: RetrySchedule(limit: .seconds(10))),
                    handler: JobsHandler(
                        apps: engines.apps, table: jobs, breaker: breaker, mover: mover, logger: logger),
                    logger: logger),
            ], ending: .together, logger: logger)
        return [
            engines.service(migrations: [MediaOffloadMigrations.all], servesUsers: true) {
                [
                    answers,
                    consumers,
                    Outbox(
                        OverdueJobs(table: jobs), producer: engines.events, sweepInterval: .seconds(15), logger: logger),
                    ReferenceNumbering(table: table, store: engines.store, apps: engines.apps, logger: logger),
                ]
            }
        ]
    }
}

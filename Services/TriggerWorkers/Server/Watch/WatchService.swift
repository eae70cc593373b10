import ChangeStream
import EventStream
import EventTopics
import Kafka
import Secrets
import ServiceBootstrap
import ServiceEngines

/// The parts of the streams of changes.
struct WatchService: Sendable {
    let watches: Watches
    let route: WatchRoute
    /// Reads the topic while at least one stream is open.
    let tail: OnDemandTail<DocumentChangesEvent>
    let keeper: WatchKeeper
    let resumptions: WatchResumptions

    init(_ context: ServiceContext, _ engines: ServiceEngines, _ functions: ClientFunctions) {
        let limits = WatchLimits(context.configuration)
        let watches = Watches(limits, clock: engines.clock)
        let feed = WatchFeed(
            apps: engines.apps, history: ChangeHistory(client: engines.postgres), retained: watches.retained,
            logger: context.logger)
        self.watches = watches
        tail = OnDemandTail(
            pool: engines.pool, kafka: engines.reading, logger: context.logger,
            onPositioned: { watches.offsets = $0 },
            handle: { events in
                var live = LiveWatches(watches)
                feed.handle(events, for: &live)
                live.finish()
            })
        let resumption = { [pool = engines.pool, kafka = engines.kafka, logger = context.logger] in
            WatchResumption(watches: watches, feed: feed, limit: limits.resumption, logger: logger) {
                () throws(KafkaError) in try TopicRange(pool: pool, kafka: kafka, logger: logger)
            }
        }
        resumptions = WatchResumptions(watches: watches, short: resumption(), long: resumption())
        keeper = WatchKeeper(
            watches: watches, access: engines.access, heartbeat: limits.heartbeat, clock: engines.clock)
        route = WatchRoute(
            apps: engines.apps, access: engines.access, functions: functions, watches: watches, keeper: keeper,
            tail: tail, resumptions: resumptions, sealer: TokenSealer(engines.keys, purpose: "watch"), limits: limits,
            clock: engines.clock)
        engines.apps.onChange { watches.changed($0) }
        engines.access.shutOut.onShutOut { [keeper] in keeper.shutOutChanged() }
    }
}

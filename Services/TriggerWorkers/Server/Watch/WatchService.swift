import ChangeStream
import EventStream
import EventTopics
import ServiceBootstrap
import ServiceEngines

/// The parts of the streams of changes.
struct WatchService: Sendable {
    let watches: Watches
    let route: WatchRoute
    /// Reads the topic while at least one stream is open.
    let tail: OnDemandTail<DocumentChangesEvent>
    let keeper: WatchKeeper

    init(_ context: ServiceContext, _ engines: ServiceEngines, _ functions: ClientFunctions) {
        let limits = WatchLimits(context.configuration)
        let watches = Watches(limits)
        let feed = WatchFeed(
            watches: watches, apps: engines.apps, history: ChangeHistory(client: engines.postgres),
            logger: context.logger)
        self.watches = watches
        tail = OnDemandTail(pool: engines.pool, kafka: engines.reading, logger: context.logger) { feed.handle($0) }
        keeper = WatchKeeper(
            watches: watches, access: engines.access, heartbeat: limits.heartbeat, clock: engines.clock)
        route = WatchRoute(
            apps: engines.apps, access: engines.access, functions: functions, watches: watches, keeper: keeper,
            tail: tail, limits: limits, clock: engines.clock)
        engines.apps.onChange { watches.changed($0) }
        engines.access.shutOut.onShutOut { [keeper] in keeper.shutOutChanged() }
    }
}

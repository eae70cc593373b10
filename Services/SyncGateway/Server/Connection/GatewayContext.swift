import AppRegistry
import DocumentModel
import DocumentStore
import EventLoop
import EventStream
import Grants
import Logging
import ServiceEngines
import SyncEngine

/// What all sessions of a gateway share.
final class GatewayContext: Sendable {
    let store: DocumentStore
    let committer: GroupCommitter
    let apps: AppDirectory
    let access: AccessCheck
    let connections: UserConnections
    let grants: GrantBook
    let lease: GrantLease
    let epoch: EpochWatch
    let presence: PresenceKeeper
    let producer: EventProducer
    let limits: ConnectionLimits
    /// What frames of all devices take while they are on their way.
    let frames = InflightBudget(limit: 256 << 20)
    /// Bytes that may wait in a device's socket before it has to catch up.
    let window: Int
    /// This gateway's name in events and logs.
    let instance: String
    let clock: WallClock
    /// Why uploads weren't committed, as it was said in the log.
    let uploadFailures = Locked(FailureChanges())
    let logger: Logger

    init(
        store: DocumentStore, committer: GroupCommitter, apps: AppDirectory, access: AccessCheck,
        connections: UserConnections, grants: GrantBook, lease: GrantLease,
        epoch: EpochWatch, presence: PresenceKeeper,
        producer: EventProducer,
        limits: ConnectionLimits, window: Int, instance: String, clock: WallClock, logger: Logger
    ) {
        self.store = store
        self.committer = committer
        self.apps = apps
        self.access = access
        self.connections = connections
        self.grants = grants
        self.lease = lease
        self.epoch = epoch
        self.presence = presence
        self.producer = producer
        self.limits = limits
        self.window = window
        self.instance = instance
        self.clock = clock
        self.logger = logger
    }

    /// Milliseconds since 1970.
    var wallTime: Int64 { clock.now() }

    /// For the sessions' state machines: a clock that doesn't go back.
    var time: Duration {
        let now = ContinuousClock.now
        return now - Self.start
    }

    private static let start = ContinuousClock.now
}

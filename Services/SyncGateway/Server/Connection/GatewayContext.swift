import AppRegistry
import DocumentModel
import EventLoop
import Grants
import Logging
import ServiceEngines
import SyncEngine

/// The state that all sessions of a gateway share.
final class GatewayContext: Sendable {
    let apps: AppDirectory
    let access: AccessCheck
    let connections: UserConnections
    let lease: GrantLease
    let presence: PresenceKeeper
    let limits: ConnectionLimits
    let uploads: UploadPath
    let downloads: DownloadPath
    let schemas: SchemaRequests
    let clock: WallClock
    let logger: Logger
    /// The bytes of frames of all devices that are being received or handled.
    let frames = InflightBudget(limit: 256 << 20)
    /// The processor time that the frames of each user's devices take, and those of all together who send much.
    let frameTime: TimeBudget
    /// The bytes of catch-ups that are being read, or wait in the sockets of all devices.
    let chunks = InflightBudget(limit: 256 << 20)

    init(
        apps: AppDirectory, access: AccessCheck, connections: UserConnections, lease: GrantLease,
        presence: PresenceKeeper, limits: ConnectionLimits, uploads: UploadPath, downloads: DownloadPath,
        schemas: SchemaRequests, clock: WallClock, loops: Int, logger: Logger
    ) {
        self.apps = apps
        self.access = access
        self.connections = connections
        self.lease = lease
        self.presence = presence
        self.limits = limits
        self.uploads = uploads
        self.downloads = downloads
        self.schemas = schemas
        self.clock = clock
        frameTime = TimeBudget(share: 0.25, total: 0.5 * Double(loops), allowance: .seconds(1))
        self.logger = logger
    }

    /// Milliseconds since 1970.
    var wallTime: Int64 { clock.now() }

    /// The time of a monotonic clock, for the sessions' state machines.
    var time: Duration {
        let now = ContinuousClock.now
        return now - Self.start
    }

    private static let start = ContinuousClock.now
}

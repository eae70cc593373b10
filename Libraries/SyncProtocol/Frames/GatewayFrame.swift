import DocumentModel
import SyncEngine

/// A frame from a gateway to a device.
public enum GatewayFrame: Sendable {
    /// Answers `hello`.
    case welcome(Welcome)
    /// Answers `subscribe`.
    case subscribed(Subscribed)
    /// The user's access to an open partition has changed.
    case access(partition: Partition, Access)
    /// A changeset was committed.
    case ack(Acknowledgement)
    /// The server has a different changeset of this device under the version: the device needs a new id.
    case forked(partition: Partition, version: Int64)
    /// A changeset was rejected.
    case rejected(Rejection)
    /// Changes of a partition.
    case download(partition: Partition, Download)
    /// The device removes the partition's data.
    case revoked(partition: Partition, reason: String)
    /// Another user's presence.
    case presence(PresenceReport)
    /// Something went wrong.
    case error(ErrorReport)
    /// Answers `ping`.
    case pong

    /// The gateway's answer to `hello`.
    public struct Welcome: Hashable, Sendable {
        /// Identifies the connection in the logs of both sides.
        public var session: String
        /// The gateway's wall clock, milliseconds since 1970.
        public var serverTime: Int64
        /// The limits of the connection.
        public var limits: Limits

        public init(session: String, serverTime: Int64, limits: Limits) {
            self.session = session
            self.serverTime = serverTime
            self.limits = limits
        }
    }

    /// The limits of a connection.
    public struct Limits: Hashable, Sendable {
        /// The largest frame in bytes, in either direction.
        public var frameBytes: Int64
        /// How many changesets may be unanswered at once.
        public var uploadWindow: Int64
        /// How many partitions may be open at once.
        public var subscriptions: Int64
        /// How many seconds a device may be silent before it is disconnected.
        public var idleSeconds: Int64

        public init(frameBytes: Int64, uploadWindow: Int64, subscriptions: Int64, idleSeconds: Int64) {
            self.frameBytes = frameBytes
            self.uploadWindow = uploadWindow
            self.subscriptions = subscriptions
            self.idleSeconds = idleSeconds
        }

        /// The engine's limits in their form on the wire.
        public init(_ limits: ConnectionLimits) {
            self.init(
                frameBytes: Int64(limits.frameBytes), uploadWindow: Int64(limits.uploadWindow),
                subscriptions: Int64(limits.subscriptions), idleSeconds: limits.idleTimeout.components.seconds)
        }
    }

    /// A partition is open.
    public struct Subscribed: Hashable, Sendable {
        /// The partition that was opened.
        public var partition: Partition
        /// What the user may do: `read` or `write`.
        public var access: Access
        /// The partition's head.
        public var head: Revision
        /// The last version of this device that the server has in the partition; 0 when there is none.
        public var lastVersion: Int64
        /// How what the device holds compares with what the server has; `nil` when it wasn't compared.
        public var holds: Holdings.Comparison?

        public init(
            partition: Partition, access: Access, head: Revision, lastVersion: Int64, holds: Holdings.Comparison? = nil
        ) {
            self.partition = partition
            self.access = access
            self.head = head
            self.lastVersion = lastVersion
            self.holds = holds
        }
    }

    /// A changeset was committed.
    public struct Acknowledgement: Hashable, Sendable {
        /// Its partition.
        public var partition: Partition
        /// Its version.
        public var version: Int64
        /// The last revision of the changeset; the partition's head when it changed nothing.
        public var revision: Revision
        /// Its writes that had no effect.
        public var lost: [LostWrite]

        public init(partition: Partition, version: Int64, revision: Revision, lost: [LostWrite] = []) {
            self.partition = partition
            self.version = version
            self.revision = revision
            self.lost = lost
        }
    }

    /// A changeset was rejected as a whole.
    public struct Rejection: Hashable, Sendable {
        /// Its partition.
        public var partition: Partition
        /// Its version.
        public var version: Int64
        /// Why the changeset was rejected.
        public var reason: OperationRejection

        public init(partition: Partition, version: Int64, reason: OperationRejection) {
            self.partition = partition
            self.version = version
            self.reason = reason
        }
    }

    /// Another user's presence.
    public struct PresenceReport: Sendable {
        /// The user's id.
        public var user: String
        /// A state that the app defines, or `offline`.
        public var state: String
        /// When the user was last seen, milliseconds since 1970.
        public var lastSeen: Int64
        /// The data that the user's app added.
        public var data: Document?

        public init(user: String, state: String, lastSeen: Int64, data: Document? = nil) {
            self.user = user
            self.state = state
            self.lastSeen = lastSeen
            self.data = data
        }
    }

    /// Something went wrong.
    public struct ErrorReport: Hashable, Sendable {
        /// The kind of error.
        public var code: SyncErrorCode
        /// A sentence for people.
        public var message: String
        /// How the device should react.
        public var action: DeviceConnection.Remedy
        /// The partition that the error concerns; `nil` for the whole connection.
        public var partition: Partition?
        /// The byte offset in the device's frame at which the error was detected.
        public var offset: Int64?
        /// The shortest time that the device should wait before it tries again; sent in whole milliseconds.
        public var retryAfter: Duration?

        public init(
            code: SyncErrorCode, message: String, action: DeviceConnection.Remedy? = nil, partition: Partition? = nil,
            offset: Int64? = nil, retryAfter: Duration? = nil
        ) {
            self.code = code
            self.message = message
            self.action = action ?? code.action
            self.partition = partition
            self.offset = offset
            self.retryAfter = retryAfter
        }

        /// The report of a frame that couldn't be parsed.
        public init(_ error: SyncProtocolError) {
            self.init(code: error.code, message: error.message, offset: Int64(error.offset))
        }
    }

    /// The frame's `type` on the wire.
    public var type: String {
        switch self {
        case .welcome: "welcome"
        case .subscribed: "subscribed"
        case .access: "access"
        case .ack: "ack"
        case .forked: "forked"
        case .rejected: "rejected"
        case .download: "download"
        case .revoked: "revoked"
        case .presence: "presence"
        case .error: "error"
        case .pong: "pong"
        }
    }

    /// Every `type` of a gateway's frame.
    public static let types = [
        "welcome", "subscribed", "access", "ack", "forked", "rejected", "download", "revoked", "presence", "error",
        "pong",
    ]
}

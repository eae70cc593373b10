import DocumentModel
import SyncEngine

/// A frame from a device to its gateway.
public enum DeviceFrame: Sendable {
    /// Opens the connection; the first frame.
    case hello(Hello)
    /// Opens a partition. `resume` is what the last chunk carried that the device has staged; `holds` is what it shows, when it wants
    /// that to be compared.
    case subscribe(partition: Partition, checkpoint: Revision, resume: String? = nil, holds: Holdings? = nil)
    /// Closes a partition.
    case unsubscribe(partition: Partition)
    /// Offers changesets, in the order of their versions.
    case upload(Upload)
    /// Sets the user's presence, and the users whose presence the device wants to receive.
    case presence(PresenceUpdate)
    /// Renews the access token before it expires.
    case token(accessToken: String)
    /// Asks for a `pong`.
    case ping

    /// The device that connects, its user's token and its versions.
    public struct Hello: Hashable, Sendable {
        /// The protocol; `SyncProtocolVersion.name`.
        public var protocolName: String
        /// The device's id, stable for its local store.
        public var device: String
        /// The access token.
        public var token: String
        /// The version of the app's schema that the device was built with; 0 when the frame doesn't have it.
        public var schemaVersion: Int64
        /// Whether the device reads downloads without what the frame says already (``DownloadEncoder``).
        public var readsCompact: Bool

        public init(
            protocolName: String = SyncProtocolVersion.name, device: String, token: String, schemaVersion: Int64 = 0,
            readsCompact: Bool = false
        ) {
            self.protocolName = protocolName
            self.device = device
            self.token = token
            self.schemaVersion = schemaVersion
            self.readsCompact = readsCompact
        }
    }

    /// Changesets of one partition.
    public struct Upload: Sendable {
        /// The partition of the changesets.
        public var partition: Partition
        /// The device's wall clock when it sent the frame, milliseconds since 1970, for `ClockCorrection`.
        public var sentAt: Int64
        /// The changesets, in the order of their versions.
        public var changesets: [Changeset]

        public init(partition: Partition, sentAt: Int64, changesets: [Changeset]) {
            self.partition = partition
            self.sentAt = sentAt
            self.changesets = changesets
        }
    }

    /// A user's own presence.
    public struct PresenceUpdate: Sendable {
        /// The largest `data` in bytes of its text: every device that watches the user receives it.
        public static let dataBytes = 4 << 10

        /// A state that the app defines, such as `online` or `away`.
        public var state: String
        /// Data that the app adds, of at most `dataBytes`.
        public var data: Document?
        /// The users whose presence the device wants to receive from now on; `nil` leaves the list unchanged.
        public var watch: [String]?

        public init(state: String, data: Document? = nil, watch: [String]? = nil) {
            self.state = state
            self.data = data
            self.watch = watch
        }
    }

    /// The frame's `type` on the wire.
    public var type: String {
        switch self {
        case .hello: "hello"
        case .subscribe: "subscribe"
        case .unsubscribe: "unsubscribe"
        case .upload: "upload"
        case .presence: "presence"
        case .token: "token"
        case .ping: "ping"
        }
    }

    /// Every `type` of a device's frame.
    public static let types = ["hello", "subscribe", "unsubscribe", "upload", "presence", "token", "ping"]
}

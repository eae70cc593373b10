import SyncEngine

/// How an app reaches its backend, and where it keeps its data.
public struct PartitaConfiguration: Sendable {
    /// The app's id, as deployed.
    public var appId: String
    /// `http://host[:port]` or `https://…` of the backend.
    public var baseURL: String
    /// `ws://host[:port]` or `wss://…` of the sync gateway; `nil` uses the address that the backend's `location`
    /// returns.
    public var syncURL: String?
    /// An existing folder for the local stores; each user has a file there.
    public var directory: String
    /// The version of the app's schema that the program was built with.
    public var schemaVersion: Int64
    /// The transport for calls over HTTP.
    public var http: any HTTPTransport
    /// The transport for the sync connection.
    public var sync: any SyncTransport
    /// When the connection pings, times out and renews its token.
    public var timing: DeviceConnection.Timing
    /// The first and the longest wait between two attempts to connect.
    public var reconnect: (first: Duration, longest: Duration)
    /// How long acknowledged changesets are kept, to upload them again if the server is restored from a backup.
    public var retention: Duration

    public init(
        appId: String, baseURL: String, syncURL: String? = nil, directory: String, schemaVersion: Int64 = 0,
        http: any HTTPTransport, sync: any SyncTransport, timing: DeviceConnection.Timing = DeviceConnection.Timing(),
        reconnect: (first: Duration, longest: Duration) = (.milliseconds(500), .seconds(60)),
        retention: Duration = .seconds(14 * 86_400)
    ) {
        self.appId = appId
        self.baseURL = baseURL.hasSuffix("/") ? String(baseURL.dropLast()) : baseURL
        self.syncURL = syncURL
        self.directory = directory
        self.schemaVersion = schemaVersion
        self.http = http
        self.sync = sync
        self.timing = timing
        self.reconnect = reconnect
        self.retention = retention
    }
}

import SyncProtocol

/// Where an app's sync endpoint is.
enum SyncAddress {
    static func path(appId: String) -> String { SyncProtocolVersion.path(app: appId) }
}

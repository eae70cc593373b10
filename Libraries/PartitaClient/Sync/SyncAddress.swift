import SyncProtocol

/// The path of an app's sync endpoint.
enum SyncAddress {
    static func path(appId: String) -> String { SyncProtocolVersion.path(app: appId) }
}

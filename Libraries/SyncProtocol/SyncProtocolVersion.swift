/// The version of the device protocol; a change of the wire format needs a new one.
public enum SyncProtocolVersion {
    /// The name in `hello`, and of the WebSocket subprotocol.
    public static let name = "partita.sync.v1"

    /// The path of the WebSocket endpoint of an app.
    public static func path(app: String) -> String { "/v1/apps/\(app)/sync" }
}

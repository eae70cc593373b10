import AppRegistry
import DocumentModel
import DocumentStore
import HTTPServer
import RealmSync
import ServiceEngines
import WebSocket

extension SessionHall {
    /// Handles an upgrade request of a client with the Realm SDKs.
    /// - Throws: `HTTPError`: 401 for a token that isn't valid, 403 for a disabled user, 503 while the gateway starts or stops or the app's sync is off, 404 for an unknown
    ///   app, 400 for other protocols, such as that of flexible sync.
    func admitRealm(_ request: HTTPRequest, hub: RealmHub) throws -> HTTPResponse {
        let app = try request.parameters.require("app")
        try requireOpen()
        let claims = try request.claims(of: app, access: context.access, parameter: "baas_at")
        guard let sync = context.apps.app(app)?.definition.sync else {
            throw HTTPError(404, code: "AppNotFound", "no app \(app) with partition-based sync is deployed")
        }
        // The SDKs try again later.
        guard sync.isEnabled else { throw HTTPError(503, code: "MaintenanceInProgress", "the sync of \(app) is off") }
        guard let chosen = RealmProtocol.choose(from: request.webSocketSubprotocols) else {
            let isFlexible = request.webSocketSubprotocols.contains { $0.hasPrefix("com.mongodb.realm-query-sync") }
            throw HTTPError(
                400, code: "BadRequest",
                isFlexible
                    ? "flexible sync isn't served: open Realms with a partition value"
                    : "this endpoint speaks the WebSocket subprotocols com.mongodb.realm-sync#2 to #14")
        }
        let shard = try shard(of: request)
        var configuration = configuration
        configuration.allowsCompression = false
        // RFC 6455, 4.2.2: the answer is one of those that were offered, which may be a range.
        let offered = request.webSocketSubprotocols
        let token =
            offered.first { $0.hasSameBytes(as: chosen.token) }
            ?? offered.first { RealmProtocol.choose(from: [$0]) == chosen }
        return .webSocket(subprotocol: token, configuration: configuration) { [self] socket in
            let connection = RealmConnection(
                socket, version: chosen.version, app: app, claims: claims, shard: shard, hub: hub, context: context
            ) { [weak self] connection in
                self?.leave(connection)
            }
            enter(connection) { connection.start() }
        }
    }
}

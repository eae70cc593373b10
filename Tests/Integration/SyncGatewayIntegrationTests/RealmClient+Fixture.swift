import DocumentModel
import RealmTestClient
import SyncEngine

extension RealmClient {
    /// A client of a user of the fixture's gateway.
    convenience init(
        _ user: String, in partition: Partition, of fixture: GatewayFixture, app: String = GatewayFixture.app
    ) {
        self.init(in: partition, of: app, port: fixture.port, on: GatewayFixture.loops.next()) {
            try fixture.token(user, app: app)
        }
    }
}

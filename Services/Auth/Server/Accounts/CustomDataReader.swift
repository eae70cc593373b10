import AppRegistry
import DocumentModel
import DocumentStore
import Logging

/// Reads the custom data that an app keeps of its users, as access tokens carry it for the client to show. (Rules and functions read
/// it where it is.)
struct CustomDataReader: Sendable {
    /// The document of a user, `nil` when there is none or it can't be had now.
    var read: @Sendable (_ app: DeployedApp, _ user: String) async -> Document?

    /// Tokens travel with every call, so larger documents stay out of them.
    private static let maximumBytes = 4096

    /// From the collection that the app's definition names.
    init(store: DocumentStore, logger: Logger) {
        read = { app, user in
            guard let place = app.definition.customUserData, place.isEnabled else { return nil }
            do {
                let collection = store.collection(place.collection, database: place.database, app: app.id)
                guard let document = try await collection.findOne([place.userIdField: .string(user)]) else {
                    return nil
                }
                guard ExtendedJSON.print(document).utf8.count <= Self.maximumBytes else {
                    logger.info(
                        "custom data is too large for a token", metadata: ["app": "\(app.id)", "user.id": "\(user)"])
                    return nil
                }
                return document
            } catch {
                logger.warning("custom data can't be read", metadata: ["app": "\(app.id)", "error": "\(error)"])
                return nil
            }
        }
    }
}

public import AppDefinition
import DocumentModel
public import DocumentStore

extension RuleUser {
    /// The user with the custom data that the app has of them now. That in an access token may be as old as the token, so rules and
    /// functions don't use it.
    /// - Throws: as reads of the document store.
    public func withPresentCustomData(
        of app: AppDefinition, in store: DocumentStore
    ) async throws -> RuleUser {
        guard let place = app.customUserData, place.isEnabled else { return self }
        var user = self
        user.customData =
            try await store.collection(place.collection, database: place.database, app: app.id)
            .findOne([place.userIdField: .string(id)]) ?? [:]
        return user
    }
}

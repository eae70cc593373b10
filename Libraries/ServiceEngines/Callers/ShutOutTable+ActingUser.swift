public import AppDefinition
public import DocumentStore
import Functions
public import HTTPServer

extension ShutOutTable {
    /// The user that settings or a script choose for a call to run as. Only `auth` knows the accounts, so this one has only its id and its
    /// present custom data.
    /// - Throws: `HTTPError`: 403 `UserDisabled` or `UserNotFound` for a disabled or deleted user; 503 `ServiceUnavailable` while the database
    ///   isn't available.
    public func actingUser(_ id: String, of app: AppDefinition, in store: DocumentStore) async throws(HTTPError)
        -> RuleUser
    {
        let user: RuleUser, blocked: Reason?
        do {
            blocked = try await reason(for: id, app: app.id)
            user = try await RuleUser(id: id).withPresentCustomData(of: app, in: store)
        } catch {
            throw HTTPError(call: error)
        }
        switch blocked {
        case .disabled: throw HTTPError(403, code: "UserDisabled", "the user that this runs as is disabled")
        case .deleted: throw HTTPError(403, code: "UserNotFound", "the user that this runs as is deleted")
        case nil: return user
        }
    }
}

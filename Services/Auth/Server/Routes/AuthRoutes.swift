import DocumentModel
import HTTPServer
import Postgres

/// All routes of auth. `Deploy/openapi.yaml` describes them, and a test compares the two.
struct AuthRoutes: Sendable {
    let keys: SigningKeyRing
    let account: AccountRoutes
    let session: SessionRoutes
    let push: PushRoutes
    let admin: AdminRoutes

    /// Adds the routes to a router.
    func add(to router: inout HTTPRouter) {
        router.group("") { router in
            router.use { request, next in
                do {
                    return try await next(request)
                } catch let error as PostgresError where error.isDataException {
                    throw AuthError(.invalidParameter, "a value of the request can't be stored", cause: error)
                } catch let error as PostgresError where error.failureClass != .refused {
                    // The database is away, or has to be mended: the client shall come again.
                    throw AuthError(.serviceUnavailable, "the database can't be reached", cause: error)
                }
            }
            router.get("/.well-known/jwks.json") { _ in keySet() }
            router.group("/api/client/v2.0/app/:app") { router in
                account.add(to: &router)
                push.add(to: &router)
            }
            router.group("/api/client/v2.0/auth") { router in
                session.add(to: &router)
                account.redirects.addCallback(to: &router)
            }
            admin.add(to: &router)
        }
    }

    private func keySet() -> HTTPResponse {
        var response = HTTPResponse.json(
            ExtendedJSON.print(.document(keys.keySet.jwks), mode: .relaxed))
        response.headers["Cache-Control"] = "public, max-age=300"
        return response
    }
}

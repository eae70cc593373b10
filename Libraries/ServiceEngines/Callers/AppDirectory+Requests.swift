public import AppRegistry
public import HTTPServer

extension AppDirectory {
    /// The deployed app that a request names.
    ///
    /// - Throws: `HTTPError` 404 `AppNotFound`; 503 `ServiceUnavailable` right after the start, while the apps aren't loaded yet.
    public func requested(_ id: String) throws(HTTPError) -> DeployedApp {
        if let app = app(id) { return app }
        guard isLoaded else { throw HTTPError(503, code: "ServiceUnavailable", "the apps aren't loaded yet") }
        throw HTTPError(404, code: "AppNotFound", "no app \(id) is deployed")
    }
}

import AppRegistry
import HTTPServer
import ServiceEngines

/// `/app/{app}/endpoint/{route}`: the HTTPS endpoints of an app, each of which runs a function.
struct EndpointRoute: Sendable {
    static let template = "/app/:app/endpoint/*route"

    let apps: AppDirectory
    let run: EndpointRun

    func handle(_ request: HTTPRequest) async throws -> HTTPResponse {
        let app = try apps.requested(try request.parameters.require("app"))
        let endpoints = app.definition.endpoints(at: "/" + (try request.parameters.require("route")))
        let endpoint = try EndpointRun.choose(request.method, of: endpoints, "endpoint")
        return try await run.answer(request, of: app, .init(endpoint: endpoint, appPath: "/app/\(app.id)"))
    }
}

import AppRegistry
import HTTPServer
import ServiceEngines

/// `/api/client/v2.0/app/{app}/service/{service}/incoming_webhook/{webhook}`: the webhooks of an app's services, at the addresses that they
/// had on App Services.
struct WebhookRoute: Sendable {
    static let template = "/api/client/v2.0/app/:app/service/:service/incoming_webhook/:webhook"

    let apps: AppDirectory
    let run: EndpointRun

    func handle(_ request: HTTPRequest) async throws -> HTTPResponse {
        let app = try apps.requested(try request.parameters.require("app"))
        let service = try request.parameters.require("service")
        let webhook = app.definition.webhook(try request.parameters.require("webhook"), of: service)
        let endpoint = try EndpointRun.choose(request.method, of: webhook.map { [$0.endpoint] } ?? [], "webhook")
        return try await run.answer(
            request, of: app,
            .init(
                endpoint: endpoint, appPath: "/api/client/v2.0/app/\(app.id)", service: service, action: webhook?.name,
                payload: webhook?.payload ?? .request,
                ignoresValueOfResponse: true))
    }
}

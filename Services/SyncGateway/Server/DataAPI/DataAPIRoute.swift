import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
import Functions
import HTTPServer
import ServiceEngines

/// `POST /app/{app}/endpoint/data/v1/action/{action}`: documents over plain HTTP, under the data rules of the caller.
///
/// Its writes are like all others: devices receive them, triggers run.
struct DataAPIRoute: Sendable {
    static let template = "/app/:app/endpoint/data/v1/action/:action"
    /// The largest request body in bytes, as in Atlas.
    static let bodyLimit = 18 << 20
    /// The headers by which callers of Atlas' data API sign in with each request.
    private static let credentials = ["apiKey", "email", "jwtTokenString"]

    let apps: AppDirectory
    let access: AccessCheck
    let store: DocumentStore
    let turns: DocumentTurns
    let rules: RuleFunctions
    let shutOut: ShutOutTable
    let bodies = LargeBodies()

    func handle(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await bodies.run(request) { try await answer($0) }
    }

    private func answer(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try request.parameters.require("app")
        let app = try apps.requested(id)
        guard let settings = app.definition.dataAPI else {
            throw HTTPError(
                404, code: "NotFound",
                "the app \(id) doesn't enable the data API: http_endpoints/data_api_config.json does, with \"disabled\": false"
            )
        }
        let name = try request.parameters.require("action")
        guard let action = DataAPIAction(rawValue: name) else {
            throw HTTPError(404, code: "NotFound", "the data API has no action \(name)")
        }
        if request.headers["authorization"] == nil,
            let header = Self.credentials.first(where: { request.headers[$0.lowercased()] != nil })
        {
            throw HTTPError(
                401, code: "InvalidSession",
                "the header \(header) isn't taken here: sign in first, and send Authorization: Bearer … with the access token"
            )
        }
        let caller = try request.caller(of: id, access: access)
        let isExtended = request.acceptsExtendedJSON(default: settings.returnsExtendedJSON)
        try requireJSON(request)
        let body = try await bodies.document(of: request, from: caller.id, of: id)
        let call = try self.call(body, action, of: app.definition)
        let description = request.description(service: "data-api", action: name)
        do {
            let access = UserAccess(
                try await caller.withPresentCustomData(of: app.definition, in: store), of: app.definition,
                version: app.version, request: description, functions: rules)
            if let rule = settings.canEvaluate, try await !access.holds(rule) {
                throw HTTPError(403, code: "NoMatchingRuleFound", "this user may not call the data API")
            }
            var acting = access
            if let user = settings.runAsUserId {
                acting = UserAccess(
                    try await shutOut.actingUser(user, of: app.definition, in: store), of: app.definition,
                    version: app.version, request: description, functions: rules)
            }
            let value = try await turns.perform(call, of: caller.id, as: .user(acting), on: store, app: id)
            return .value(.document(action.answer(value)), status: action.status, isExtended: isExtended)
        } catch let error as HTTPError {
            throw error
        } catch {
            throw HTTPError(call: error)
        }
    }

    /// Both formats of a body are parsed in the same way, since Extended JSON is JSON.
    private func requireJSON(_ request: HTTPRequest) throws(HTTPError) {
        let type = HTTPRequest.mediaType(request.headers["content-type"])
        guard type == "application/json" || type == "application/ejson" else {
            throw HTTPError(
                400, code: "InvalidParameter", "Content-Type must be application/json or application/ejson")
        }
    }

    private func call(
        _ body: Document, _ action: DataAPIAction, of app: AppDefinition
    ) throws(HTTPError) -> DocumentCall {
        guard let source = try body.text("dataSource") else {
            throw HTTPError(400, code: "MissingParameter", "dataSource is missing")
        }
        guard app.hasDocumentStore(source) else {
            throw HTTPError(400, code: "ServiceNotFound", "the app has no data source '\(source)'")
        }
        let call = try action.call(body, of: source)
        do {
            try call.checkService(in: app)
        } catch {
            throw HTTPError(call: error)
        }
        return call
    }
}

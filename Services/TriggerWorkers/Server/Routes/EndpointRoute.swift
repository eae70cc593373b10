import AppDefinition
import AppRegistry
import DocumentModel
import FunctionProtocol
import HTTPServer
import ServiceEngines

/// `/app/{app}/endpoint/{route}`: the HTTPS endpoints of an app, each of which runs a function.
///
/// The function runs as the system or as a user if it is configured so, and then the request needs no token; otherwise it runs as
/// the user whose access token the request carries.
struct EndpointRoute: Sendable {
    static let template = "/app/:app/endpoint/*route"
    static let methods: [HTTPMethod] = [.get, .post, .put, .patch, .delete]
    /// The largest request body in bytes.
    static let bodyLimit = 18 << 20

    let apps: AppDirectory
    let access: AccessCheck
    let functions: ClientFunctions

    func handle(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try request.parameters.require("app")
        let app = try apps.requested(id)
        let endpoint = try endpoint(of: app.definition, at: "/" + request.parameters.require("route"), request.method)
        try EndpointValidation(app: app.definition).check(request, endpoint)
        guard let function = app.definition.function(endpoint.functionName) else {
            throw HTTPError(404, code: "FunctionNotFound", "function not found: '\(endpoint.functionName)'")
        }
        let needsCaller = !function.runsAsSystem && function.runAsUserId == nil
        let user =
            needsCaller
            ? try await functions.present(request.caller(of: id, access: access), of: app.definition) : nil
        var description = request.description(service: "", action: function.name)
        if let host = request.headers["host"] {
            description["webhookUrl"] = .string("\(request.scheme)://\(host)\(request.path)")
        }
        let call = ClientFunctions.Call(
            app: app, user: user, member: user?.id ?? request.remoteAddress.ip, request: description)
        let value: Value
        do {
            value = try await functions.respond(
                function, to: Self.payload(request, hidesToken: needsCaller), call)
        } catch let failure as FunctionFailure {
            throw HTTPError(failure)
        }
        guard endpoint.respondsWithResult else { return .noContent }
        return try EndpointResponse(value: value).response(
            isExtended: request.acceptsExtendedJSON(default: endpoint.returnsExtendedJSON))
    }

    private func endpoint(
        of app: AppDefinition, at route: String, _ method: HTTPMethod
    ) throws(HTTPError) -> HTTPEndpoint {
        let endpoints = app.endpoints(at: route)
        let name = method == .head ? HTTPMethod.get.rawValue : method.rawValue
        for wanted in [name, "*"] {
            if let endpoint = endpoints.first(where: { $0.method.hasSameBytes(as: wanted) }) { return endpoint }
        }
        if endpoints.isEmpty { throw HTTPError(404, code: "NotFound", "the app has no endpoint at this path") }
        throw HTTPError(
            405, code: "MethodNotAllowed", "the endpoint has another method",
            headers: ["Allow": endpoints.map(\.method).joined(separator: ", ")])
    }

    /// The function's first argument. A function that runs as its caller gets the user instead of the token.
    private static func payload(_ request: HTTPRequest, hidesToken: Bool) -> Value {
        var query: [Document.Field] = []
        var seen: Set<ExactText> = []
        for (name, value) in request.query.pairs where seen.insert(ExactText(name)).inserted {
            query.append(.init(name, .string(value)))
        }
        var payload: Document = [
            "query": .document(Document(fields: query)),
            "headers": .document(request.titledHeaders(without: hidesToken ? ["authorization"] : [])),
        ]
        if !request.body.isEmpty { payload["body"] = .binary(Binary(request.body, subtype: 0)) }
        return .document(payload)
    }
}

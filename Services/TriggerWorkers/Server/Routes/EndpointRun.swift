import AppDefinition
import AppRegistry
import DocumentModel
import FunctionProtocol
import Functions
import HTTPServer
import ServiceEngines

/// Runs the function of an endpoint for a request and answers with its response: of HTTPS endpoints, and of webhooks.
///
/// The function runs as the system or as a user if it is configured so, and then the request needs no token; otherwise it runs as
/// the user whose access token the request carries.
struct EndpointRun: Sendable {
    static let methods: [HTTPMethod] = [.get, .post, .put, .patch, .delete]
    /// The largest request body in bytes.
    static let bodyLimit = 18 << 20

    let access: AccessCheck
    let functions: ClientFunctions
    let limits: EndpointLimits
    let address: PublicAddress

    /// What a request asked for.
    struct Target: Sendable {
        let endpoint: HTTPEndpoint
        /// The path below which everything is the app's.
        let appPath: String
        /// The service and the action of `context.request`.
        var service = ""
        var action: String?
        var payload = Webhook.Payload.request
        /// Whether the function's value isn't answered once the function has set something on its response.
        var ignoresValueOfResponse = false

        /// Its name within the app.
        var name: String {
            action.map { "webhook \(service)/\($0)" } ?? "endpoint \(endpoint.method) \(endpoint.route)"
        }
    }

    /// The endpoint for a request's method.
    /// - Parameter what: the kind of endpoint, for the error: `endpoint`.
    static func choose(
        _ method: HTTPMethod, of endpoints: [HTTPEndpoint], _ what: String
    ) throws(HTTPError) -> HTTPEndpoint {
        let names = method == .head ? [method.rawValue, HTTPMethod.get.rawValue, "*"] : [method.rawValue, "*"]
        for wanted in names {
            if let endpoint = endpoints.first(where: { $0.method.hasSameBytes(as: wanted) }) { return endpoint }
        }
        if endpoints.isEmpty { throw HTTPError(404, code: "NotFound", "the app has no \(what) at this path") }
        throw HTTPError(
            405, code: "MethodNotAllowed", "the \(what) has another method",
            headers: ["Allow": endpoints.map(\.method).joined(separator: ", ")])
    }

    func answer(_ request: HTTPRequest, of app: DeployedApp, _ target: Target) async throws -> HTTPResponse {
        guard let function = app.definition.function(target.endpoint.functionName) else {
            throw HTTPError(404, code: "FunctionNotFound", "function not found: '\(target.endpoint.functionName)'")
        }
        let caller = function.runsAsCaller ? try request.caller(of: app.id, access: access) : nil
        var refusal: HTTPError?
        do { try EndpointValidation(app: app.definition).check(request, target.endpoint) } catch { refusal = error }
        // Before the answer tells whether the secret is right, so that guesses are limited, too.
        try await limits.spend(
            app: app.id, endpoint: target.name, Self.counted(caller, request), isRefused: refusal != nil)
        if let refusal { throw refusal }
        var user: RuleUser?
        if let caller { user = try await functions.present(caller, of: app.definition) }
        var description = request.description(service: target.service, action: target.action ?? function.name)
        description["webhookUrl"] = .string(address.base(of: request) + request.path)
        let call = ClientFunctions.Call(
            app: app, user: user, member: user?.id ?? request.remoteAddress.ip, request: description)
        let payload = Self.payload(request, target.payload, hidesToken: function.runsAsCaller)
        let value: Value
        do {
            value = try await functions.respond(function, to: payload, call)
        } catch let failure as FunctionFailure {
            throw HTTPError(failure, link: LogsLink.url(of: app.id, at: address.base(of: request)))
        }
        guard target.endpoint.respondsWithResult else { return .noContent }
        return try EndpointResponse(
            value: value, ignoresValue: target.ignoresValueOfResponse, appPath: target.appPath
        ).response(
            isExtended: request.acceptsExtendedJSON(default: target.endpoint.returnsExtendedJSON))
    }

    /// Whose calls a call is counted with. An anonymous account costs nothing, and who has one may have many: its address is counted.
    private static func counted(_ user: RuleUser?, _ request: HTTPRequest) -> EndpointLimits.Caller {
        guard let user, !user.isAnonymous else { return .address(request.remoteAddress.network) }
        return .user(user.id)
    }

    /// The function's first argument. A function that runs as its caller gets the user instead of the token.
    private static func payload(_ request: HTTPRequest, _ kind: Webhook.Payload, hidesToken: Bool) -> Value {
        switch kind {
        case .form: return .document(document(HTTPQuery(String(decoding: request.body, as: UTF8.self))))
        case .request:
            var payload: Document = [
                "query": .document(document(request.query)),
                "headers": .document(request.titledHeaders(without: hidesToken ? ["authorization"] : [])),
            ]
            if !request.body.isEmpty { payload["body"] = .binary(Binary(request.body, subtype: 0)) }
            return .document(payload)
        }
    }

    /// The first value of each name.
    private static func document(_ query: HTTPQuery) -> Document {
        var fields: [Document.Field] = []
        var seen: Set<ExactText> = []
        for (name, value) in query.pairs where seen.insert(ExactText(name)).inserted {
            fields.append(.init(name, .string(value)))
        }
        return Document(fields: fields)
    }
}

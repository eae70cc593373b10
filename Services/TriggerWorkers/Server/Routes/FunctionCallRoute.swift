import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
import FunctionProtocol
import Functions
import HTTPServer
import ServiceEngines

/// `POST /api/client/v2.0/app/{app}/functions/call`: a client calls a function of the app, or a method of a collection.
struct FunctionCallRoute: Sendable {
    let apps: AppDirectory
    let access: AccessCheck
    let store: DocumentStore
    let functions: ClientFunctions
    let address: PublicAddress
    let bodies = LargeBodies()

    func handle(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await bodies.run(request) { try await answer($0) }
    }

    private func answer(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try request.parameters.require("app")
        let app = try apps.requested(id)
        let caller = try request.caller(of: id, access: access)
        let body = try await bodies.document(of: request, from: caller.id, of: id)
        let user = try await functions.present(caller, of: app.definition)
        guard let name = try body.text("name") else {
            throw HTTPError(400, code: "MissingParameter", "name is missing")
        }
        let arguments: [Value]
        switch body["arguments"] {
        case nil, .null?: arguments = []
        case .array(let given)?: arguments = given
        default: throw HTTPError(400, code: "InvalidParameter", "arguments must be an array")
        }
        let service = try body.text("service")
        let call = ClientFunctions.Call(
            app: app, user: user, request: request.description(service: service ?? "", action: name))
        if let service { return try await Self.answer(callService(service, name, arguments, call)) }
        do {
            return Self.answer(try await functions.run(name, arguments, call))
        } catch let failure as FunctionFailure {
            throw HTTPError(failure, link: LogsLink.url(of: id, at: address.base(of: request)))
        }
    }

    /// What SDKs call remote access to MongoDB: one argument, a document that includes the database and collection.
    private func callService(
        _ service: String, _ action: String, _ arguments: [Value], _ call: ClientFunctions.Call
    ) async throws(HTTPError) -> Value {
        guard call.app.definition.hasDocumentStore(service) else {
            guard call.app.definition.dataSources.contains(where: { $0.name.hasSameBytes(as: service) }) else {
                throw HTTPError(404, code: "ServiceNotFound", "service not found: '\(service)'")
            }
            throw HTTPError(
                400, code: "ServiceCommandNotFound",
                "clients can't call the service '\(service)': call a function that does")
        }
        guard DocumentCall.actions.contains(action) else {
            throw HTTPError(
                400, code: "ServiceCommandNotFound", "command not found: '\(action)' of the service '\(service)'")
        }
        guard arguments.count == 1, let argument = arguments[0].documentValue else {
            throw HTTPError(400, code: "ArgumentsNotAllowed", "'\(action)' takes one document")
        }
        do {
            let document = try DocumentCall(action: action, arguments: argument, service: service)
            try document.checkService(in: call.app.definition)
            return try await functions.turns.perform(
                document, of: call.member,
                as: .user(functions.access(call)), on: store,
                app: call.app.id)
        } catch {
            throw HTTPError(call: error)
        }
    }

    private static func answer(_ value: Value) -> HTTPResponse {
        if case .undefined = value { return .json(#"{"$undefined":true}"#) }
        return .json(ExtendedJSON.print(value))
    }
}

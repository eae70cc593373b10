import AppDefinition
import DocumentModel
import Foundation
import FunctionProtocol
import Functions
import HTTPServer
import QueryLanguage
import ServiceEngines

/// What a client wants to watch: the call in the query parameter `baas_request`, Base64 of
/// `{name: "watch", service, arguments: [{database, collection, ids, filter}]}`.
struct WatchRequest: Sendable {
    let namespace: ChangeEvent.Namespace
    /// The data source whose rules apply.
    let service: String
    /// Which changes are wanted.
    let selection: WatchSelection

    /// - Throws: `HTTPError` 400 or 404 that names what is wrong.
    init(_ query: HTTPQuery, of app: AppDefinition) throws(HTTPError) {
        let call = try Self.call(query)
        guard let name = try call.text("name") else {
            throw HTTPError(400, code: "MissingParameter", "name is missing in baas_request")
        }
        guard let service = try call.text("service") else {
            throw HTTPError(400, code: "NotCallable", "'\(name)' isn't a stream: call a function by POST")
        }
        guard app.hasDocumentStore(service) else {
            throw HTTPError(404, code: "ServiceNotFound", "service not found: '\(service)'")
        }
        guard name.hasSameBytes(as: "watch") else {
            throw HTTPError(
                400, code: "ServiceCommandNotFound",
                "command not found: '\(name)' of the service '\(service)' isn't a stream, only 'watch' is")
        }
        guard let arguments = call["arguments"]?.arrayValue, arguments.count == 1,
            let argument = arguments[0].documentValue
        else { throw HTTPError(400, code: "ArgumentsNotAllowed", "'watch' takes one document") }
        do {
            let call = try DocumentCall(action: "watch", arguments: argument, service: service)
            try call.checkService(in: app)
            namespace = call.namespace
            selection = try WatchSelection(call)
        } catch {
            throw HTTPError(call: error)
        }
        self.service = service
    }

    private static func call(_ query: HTTPQuery) throws(HTTPError) -> Document {
        guard let text = query["baas_request"] else {
            throw HTTPError(400, code: "MissingParameter", "the query parameter baas_request is missing")
        }
        // A `+` that wasn't percent-encoded has become a space.
        guard let bytes = Data(base64Encoded: text.replacing(" ", with: "+")) else {
            throw HTTPError(400, code: "BadRequest", "baas_request must be Base64 of a call")
        }
        do {
            return try ExtendedJSON.parseDocument(Array(bytes), limits: .input)
        } catch {
            throw HTTPError(400, code: "BadRequest", "baas_request must be Base64 of an Extended JSON object: \(error)")
        }
    }
}

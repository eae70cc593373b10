import AppDefinition
import DocumentModel
import Foundation
import FunctionProtocol
import Functions
import HTTPServer
import QueryLanguage
import Secrets
import ServiceEngines

/// What a client wants to watch: the call in the query parameter `baas_request`, Base64 of
/// `{name: "watch", service, arguments: [{database, collection, ids, filter, resumeAfter}]}`.
struct WatchRequest: Sendable {
    let namespace: ChangeEvent.Namespace
    /// The data source whose rules apply.
    let service: String
    /// Which changes are wanted.
    let selection: WatchSelection
    /// Where the stream continues; `nil` when it begins with the present.
    let from: WatchPosition?

    /// - Throws: `HTTPError` 400 or 404 that names what is wrong.
    init(_ request: HTTPRequest, of app: AppDefinition, _ sealer: TokenSealer) throws(HTTPError) {
        let call = try Self.call(request.query)
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
            // A browser that connects again repeats the call, and says with the header how far it has come since.
            let last = request.headers["Last-Event-ID"].flatMap {
                $0.isEmpty ? nil : ["_data": .string($0)] as Document
            }
            from = try (last ?? call.watchedAfter).map { try Self.position($0, sealer) }
        } catch {
            throw HTTPError(call: error)
        }
        self.service = service
    }

    private static func position(_ id: Document, _ sealer: TokenSealer) throws(EffectFailure) -> WatchPosition {
        if let position = id["_data"]?.stringValue.flatMap({ WatchPosition($0, sealer) }) { return position }
        throw EffectFailure(
            name: "MongoDBError",
            message:
                "the stream can't be resumed: this is no _id of a change event, or one from before encryption.keys changed: open the stream without it",
            code: 260)
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

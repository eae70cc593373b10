import AWSSigning
import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
import EventStream
import EventTopics
import Foundation
import Grants
import HTTPServer
import Metrics
import ServiceEngines

/// `GET /v1/apps/{app}/media/{database}/{collection}/{id}/{digest}`: serves the object of a link in a document to users who may
/// read the document.
struct MediaRoute: Sendable {
    static let template = "/v1/apps/:app/media/:database/:collection/:id/:digest"

    let apps: AppDirectory
    let access: AccessCheck
    let store: DocumentStore
    let table: MediaTable
    let grants: GrantBook
    let answers: OnDemandTail<GrantsEvent>
    let storage: any ObjectStorage
    /// How long a redirect's URL is valid.
    let lifetime: Duration

    func handle(_ request: HTTPRequest) async throws -> HTTPResponse {
        do {
            let response = try await open(request)
            MediaOffloadMetrics.opened["opened"].increment()
            return response
        } catch let error as any HTTPErrorConvertible {
            MediaOffloadMetrics.opened[error.httpError.code].increment()
            throw error
        } catch  where Self.isTransient(error) {
            MediaOffloadMetrics.opened["ServiceUnavailable"].increment()
            throw HTTPError(503, code: "ServiceUnavailable", "the database can't be reached")
        }
    }

    private func open(_ request: HTTPRequest) async throws -> HTTPResponse {
        let link = MediaLink(
            app: try request.parameters.require("app"),
            namespace: .init(
                database: try request.parameters.require("database"),
                collection: try request.parameters.require("collection")),
            id: try request.parameters.require("id"), digest: try request.parameters.require("digest"))
        // An `img` element has to put the token into the URL.
        let user = try request.caller(of: link.app, access: access, parameter: "baas_at")
        // The response doesn't distinguish what doesn't exist from what the user may not know about.
        guard let (partition, insertion) = try await document(of: link), !partition.isInternal,
            try await mayRead(partition, app: link.app, user: user),
            let object = try await table.object(of: link, insertion: insertion)
        else {
            throw HTTPError(404, code: "MediaNotFound", "no document that the user may read refers to this")
        }
        let tag = "\"\(link.digest)\""
        if request.headers.contains("if-none-match", tag) {
            return HTTPResponse(status: 304, headers: ["ETag": tag, "Cache-Control": "private"])
        }
        let (method, now) = (request.method == .head ? "HEAD" : "GET", AWSSignature.Instant(Date()))
        if let url = try await storage.signedURL(method, object.key, lifetime: lifetime, now: now) {
            return HTTPResponse(
                status: 302,
                headers: ["Location": url, "Cache-Control": "private, no-store", "Referrer-Policy": "no-referrer"])
        }
        guard let size = try await storage.size(of: object.key) else {
            throw HTTPError(404, code: "MediaLost", "the object store has lost this")
        }
        // A cut file, for instance. The length costs nothing to compare, unlike the digest.
        guard size == object.size else {
            throw HTTPError(500, code: "MediaDamaged", "the object store has \(size) bytes of \(object.size)")
        }
        // In parts, so that those who read slowly don't have all of it in memory.
        let body = HTTPBodyStream(length: UInt64(size)) { [storage] writer in
            for start in stride(from: 0, to: size, by: Self.part) {
                let range = start..<min(start + Self.part, size)
                guard let bytes = try await storage.part(object.key, range), bytes.count == range.count else {
                    throw HTTPError(500, code: "MediaDamaged", "the object store has lost the rest of it")
                }
                try await writer.write(bytes)
            }
        }
        return HTTPResponse(
            headers: [
                "Content-Type": object.contentType, "Cache-Control": "private", "ETag": tag,
                "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
            ], stream: body)
    }

    /// The bytes that are read from the store at once.
    private static let part = 64 << 10

    /// Asks permissions when there is no grant, for example when the user has never opened the partition with a device.
    /// - Throws: `HTTPError` 429 `TooManyRequests`, 503 `ServiceUnavailable`.
    private func mayRead(_ partition: Partition, app: String, user: RuleUser) async throws -> Bool {
        do {
            // A link has no device: all links that a user opens count as those of one device.
            let grant = try await grants.resolve(
                app: app, user: user.id, device: "", partition: partition, claims: user.claims,
                answers: answers)
            guard let grant else {
                throw HTTPError(503, code: "ServiceUnavailable", "it can't be decided now who may read this")
            }
            return grant.access != .none
        } catch let exceeded as QuestionBudget.Exceeded {
            let seconds = Int((exceeded.wait / .seconds(1)).rounded(.up))
            throw HTTPError(
                429, code: "TooManyRequests", exceeded.message,
                headers: ["Retry-After": "\(seconds)"])
        }
    }

    /// The partition of the document and its insertion number, if one of its media fields has this link now.
    private func document(of link: MediaLink) async throws -> (partition: Partition, insertion: Int64)? {
        let app = try apps.requested(link.app)
        let fields = app.definition.media.filter { $0.namespace == link.namespace }
        guard MediaLink.isDigest(link.digest), !fields.isEmpty, let id = Value(idText: link.id) else { return nil }
        let storage = try store.storage(of: link.app)
        let key = storage.partitionKey(of: link.namespace)
        // Not the whole document, since it may still have another binary.
        var projection = Document()
        for path in fields.map(\.linkField) + (key.map { [$0] } ?? []) { projection[path] = 1 }
        let collection = store.collection(
            link.namespace.collection, database: link.namespace.database, app: link.app)
        guard let document = try await collection.findOne(["_id": id], options: FindOptions(projection: projection)),
            // After the document: a later one under this `_id` has another number than the references to its predecessor.
            let insertion = try await collection.insertionNumber(of: id),
            fields.contains(where: { field in
                let place = MediaPlace(app: link.app, namespace: link.namespace, documentKey: id, path: field.field)
                return place.digest(of: field.link(in: document)) == link.digest
            })
        else { return nil }
        return (storage.partition(of: document, in: link.namespace, id: link.id), insertion)
    }

    private static func isTransient(_ error: any Error) -> Bool {
        if let error = error as? DocumentStoreError { return error.isTransient }
        return TransientErrors.contains(error)
    }
}

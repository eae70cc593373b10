import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
import EventLoop
import EventStream
import EventTopics
import Functions
import HTTPServer
import Secrets
import ServiceEngines

/// `GET /api/client/v2.0/app/{app}/functions/call`: the stream of a collection's changes that SDKs call `watch`.
struct WatchRoute: Sendable {
    static let template = "/api/client/v2.0/app/:app/functions/call"
    /// How long a client waits for the topic's position.
    private static let patience = Duration.seconds(10)

    let apps: AppDirectory
    let access: AccessCheck
    let functions: ClientFunctions
    let watches: Watches
    let keeper: WatchKeeper
    let tail: OnDemandTail<DocumentChangesEvent>
    let resumptions: WatchResumptions
    let sealer: TokenSealer
    let limits: WatchLimits
    let clock: WallClock

    /// Every change that is committed after the response has begun is in the stream.
    func handle(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try request.parameters.require("app")
        let app = try apps.requested(id)
        let claims = try request.claims(of: id, access: access, parameter: "baas_at")
        let wanted = try WatchRequest(request, of: app.definition, sealer)
        let description = request.description(service: wanted.service, action: "watch")
        let call = ClientFunctions.Call(app: app, user: RuleUser(claims), request: description)
        do {
            try functions.access(call).checkRules(of: wanted.namespace, service: wanted.service)
        } catch {
            throw HTTPError(call: error)
        }
        let place = try await open(
            Watch(
                claims, network: request.remoteAddress.network, version: app.version, wanted: wanted,
                queue: WatchQueue(changes: WatchLimits.changes, bytes: limits.window)))
        let stream = WatchStream(place: place, sealer: sealer) {
            [apps, functions, clock, filters = watches.filters] in
            WatchViewer(
                place.watch, apps: apps, functions: functions, clock: clock, request: description, filters: filters)
        }
        return HTTPResponse(
            headers: [
                "Content-Type": "text/event-stream", "Cache-Control": "no-store",
                // nginx would otherwise collect events until they fill a buffer.
                "X-Accel-Buffering": "no",
            ],
            stream: HTTPBodyStream { try await stream.send(to: $0) })
    }

    private func open(_ watch: Watch) async throws -> WatchPlace {
        if watch.wanted.from != nil { watch.queue.hold() }
        try watches.add(watch)
        let place: WatchPlace
        do {
            place = WatchPlace(watch, in: watches, try await withTimeout(Self.patience) { try await tail.read() })
        } catch {
            watches.remove(watch)
            if error is TimeoutError {
                throw HTTPError(
                    503, code: "ServiceUnavailable", "changes can't be read at the moment; try again later",
                    headers: ["Retry-After": "10"])
            }
            throw error
        }
        let epoch: Int32
        do {
            epoch = try await functions.store.currentEpoch()
        } catch let error as CancellationError {
            throw error  // the client has left
        } catch {
            throw HTTPError(call: error)
        }
        watches.saw(epoch: epoch, opened: watch)
        // Changes of these before the stream was known here have ended no stream.
        if let end = keeper.reason(watch) { watch.queue.end(end) }
        if apps.app(watch.claims.app)?.version != watch.version { watch.queue.end(.deployed) }
        if let from = watch.wanted.from {
            if from.epoch == epoch { resumptions.resume(watch, from: from) } else { watch.queue.end(.restored) }
        } else {
            watch.queue.beat(watches.position)
        }
        return place
    }
}

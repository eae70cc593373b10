import Lifecycle
import Logging
import Metrics

/// Processes every request between its head and its response: routing, CORS, conversion of errors to responses, log and metrics.
final class RequestPipeline: Sendable {
    /// The matched route of a request, with its handler and metrics.
    struct Routed: Sendable {
        let handler: HTTPHandler
        let template: String?
        let parameters: PathParameters
        let bodyLimit: Int?
        let metrics: RouteMetrics
        /// Whether there is no route, so that the body isn't needed.
        let isRefusal: Bool
    }

    private let tree: RouteTree
    private let observers: RefusalObservers
    private let cors: CORSPolicy?
    private let logger: Logger
    /// Paths without a route share one series.
    private let unmatched: [HTTPMethod: RouteMetrics]
    private let malformed: RouteMetrics

    init(router: HTTPRouter, cors: CORSPolicy?, logger: Logger, registry: MetricsRegistry) {
        let observers = router.observers
        self.observers = observers
        self.cors = cors
        self.logger = logger
        unmatched = Dictionary(
            uniqueKeysWithValues: HTTPMethod.allCases.map {
                ($0, RouteMetrics(method: $0.rawValue, route: "NotFound", registry: registry))
            })
        malformed = RouteMetrics(method: "other", route: "Malformed", registry: registry)
        var tree = router.tree
        tree.update { method, route in
            var route = route
            route.handler = Self.surround(route.handler, cors, observers, logger)
            route.metrics = RouteMetrics(method: method.rawValue, route: route.template, registry: registry)
            return route
        }
        self.tree = tree
    }

    /// Finds the handler; for a request without a route, one that answers with an error.
    func route(_ method: HTTPMethod, _ path: String) -> Routed {
        switch tree.match(method, path) {
        case .found(let route, let parameters):
            return Routed(
                handler: route.handler, template: route.template, parameters: parameters, bodyLimit: route.bodyLimit,
                metrics: route.metrics ?? malformed, isRefusal: false)
        case .otherMethod(let allowed, let route, let parameters):
            let methods = Set(allowed + (allowed.contains(.get) ? [.head, .options] : [.options]))
            let list = methods.map(\.rawValue).sorted().joined(separator: ", ")
            if method == .options {
                return refusal(method, template: route.template, parameters) { _ in
                    HTTPResponse(status: 204, headers: ["Allow": list])
                }
            }
            return refusal(method, with: .methodNotAllowed(list), template: route.template, parameters)
        case .notFound: return refusal(method, with: .notFound)
        case .malformed: return refusal(method, with: .badRequest("malformed path"))
        }
    }

    /// Runs the handler; its errors are already converted to responses.
    nonisolated(nonsending) func respond(to request: HTTPRequest, _ routed: Routed) async -> HTTPResponse {
        let start = ContinuousClock.now
        let work = CrashReport.Work("request \(request.id) \(request.method.rawValue) \(request.path)")
        routed.metrics.inProgress.increment()
        defer {
            routed.metrics.inProgress.decrement()
            work.end()
        }
        var response: HTTPResponse
        do { response = try await routed.handler(request) } catch { response = Self.answer(to: error, request, logger) }
        if response.upgrade == nil, !(200...599).contains(response.status) {
            logger.error("handler answered with an invalid status", metadata: ["http.status": "\(response.status)"])
            response = HTTPError.internalError.response
        }
        let duration = ContinuousClock.now - start
        routed.metrics.record(status: response.status, duration: duration)
        let status = response.status
        logger.debug(
            "request",
            metadata: [
                "request.id": "\(request.id)", "http.method": "\(request.method.rawValue)",
                "http.route": "\(routed.template ?? "NotFound")",
                "http.status": "\(status)", "remote.address": "\(request.remoteAddress)",
                "duration.ms": "\(duration / .milliseconds(1))",
            ])
        return response
    }

    /// Records a request that was refused before it had a handler, or whose response was too much to be sent.
    func recordRefusal(status: Int, _ routed: Routed?, from address: RemoteAddress) {
        (routed?.metrics ?? malformed).record(status: status, duration: .zero)
        logger.debug(
            "refused request", metadata: ["http.status": "\(status)", "remote.address": "\(address)"])
    }

    /// Tells the observers of a request that was refused before it had a handler, on the request's loop.
    func tellObservers(of request: HTTPRequest, _ error: HTTPError) {
        let observers = observers.observers(of: request.path)
        guard !observers.isEmpty else { return }
        Task(executorPreference: request.loop.taskExecutor) {
            for observe in observers { await observe(request, error) }
        }
    }

    private func refusal(
        _ method: HTTPMethod, with error: HTTPError, template: String? = nil,
        _ parameters: PathParameters = PathParameters()
    ) -> Routed {
        refusal(method, template: template, parameters) { [observers] request in
            await observers.tell(request, error)
            throw error
        }
    }

    private func refusal(
        _ method: HTTPMethod, template: String? = nil, _ parameters: PathParameters = PathParameters(),
        _ handler: @escaping HTTPHandler
    ) -> Routed {
        Routed(
            handler: Self.surround(handler, cors, observers, logger), template: template, parameters: parameters,
            bodyLimit: nil,
            metrics: unmatched[method] ?? malformed, isRefusal: true)
    }

    /// CORS is the outermost step, so that a page can read errors, too.
    private static func surround(
        _ inner: @escaping HTTPHandler, _ cors: CORSPolicy?, _ observers: RefusalObservers, _ logger: Logger
    ) -> HTTPHandler {
        let handler: HTTPHandler = { request in
            guard request.query.isWellFormed else {
                let error = HTTPError.badRequest("malformed query")
                await observers.tell(request, error)
                throw error
            }
            return try await inner(request)
        }
        guard let cors else { return handler }
        let answering: HTTPHandler = { request in
            do { return try await handler(request) } catch { return answer(to: error, request, logger) }
        }
        return { request in
            do { return try await cors.handle(request, next: answering) } catch let error as HTTPError {
                await observers.tell(request, error)
                throw error
            }
        }
    }

    private static func answer(to error: any Error, _ request: HTTPRequest, _ logger: Logger) -> HTTPResponse {
        // The client has disconnected, whatever error the handler threw.
        if Task.isCancelled { return HTTPError.clientLeft.response }
        if let known = error as? any HTTPErrorConvertible {
            let answer = known.httpError
            if answer.status >= 500 {
                // A handler that says that it can't answer now isn't at fault; its readiness and the count of responses tell.
                let isExpected = answer.status == 503 && error is HTTPError
                logger.log(
                    level: isExpected ? .debug : .error, "request failed",
                    metadata: [
                        "request.id": "\(request.id)", "http.route": "\(request.route ?? "NotFound")",
                        "error": "\(error)",
                    ])
            }
            return answer.response
        }
        if error is CancellationError { return HTTPError.unavailable.response }
        logger.error(
            "request failed",
            metadata: [
                "request.id": "\(request.id)", "http.route": "\(request.route ?? "NotFound")", "error": "\(error)",
            ])
        return HTTPError.internalError.response
    }
}

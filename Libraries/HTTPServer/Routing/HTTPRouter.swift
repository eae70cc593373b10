/// Finds the handler for a method and a path. It must be complete before the server is created, which copies it.
///
/// A template's parts are literals, except that `:name` matches any one part, and `*name` as the last part matches all the rest. A
/// literal takes precedence over a parameter: `/users/me` over `/users/:user`. Parts are compared percent-decoded; a slash at the
/// end is a part of its own.
public struct HTTPRouter: Sendable {
    private(set) var tree = RouteTree()
    private(set) var observers = RefusalObservers()
    private var middleware: [HTTPMiddleware] = []
    private var prefix = ""

    /// A router without routes.
    public init() {}

    /// Adds a step around the handlers of the routes that are added later to this router or group. Steps run in the order in which
    /// they were added, those of outer groups first.
    public mutating func use(_ step: HTTPMiddleware) { middleware.append(step) }

    /// Adds a step around the handlers of the routes that are added after this.
    public mutating func use(
        _ step: nonisolated(nonsending) @escaping @Sendable (HTTPRequest, HTTPHandler) async throws -> HTTPResponse
    ) {
        use(HTTPMiddleware(step))
    }

    /// Has an observer told of requests that no handler gets: an unknown path, another method, a path or query that can't be decoded, an
    /// origin that isn't allowed, a body that is too large.
    ///
    /// - Parameter prefix: the first parts of the paths, such as `/api/admin`.
    public mutating func observeRefusals(under prefix: String, _ observe: @escaping HTTPRefusalObserver) {
        observers.add(self.prefix + prefix, observe)
    }

    /// Adds routes whose templates begin with `prefix`; steps that are added inside apply only to them.
    public mutating func group(_ prefix: String, _ add: (inout HTTPRouter) -> Void) {
        let outer = (middleware: middleware, prefix: self.prefix)
        self.prefix += prefix
        add(&self)
        (middleware, self.prefix) = outer
    }

    /// Adds a route. A malformed template, or two routes of one method that match the same paths, are a programming error.
    ///
    /// - Parameters:
    ///   - method: a GET route also serves HEAD, unless HEAD has a route.
    ///   - template: must begin with a slash.
    ///   - bodyLimit: the maximum size of the body in bytes; `nil` for the server's.
    public mutating func on(
        _ method: HTTPMethod, _ template: String, bodyLimit: Int? = nil, _ handler: @escaping HTTPHandler
    ) {
        let template = prefix + template
        precondition(template.utf8.first == UInt8(ascii: "/"), "a template begins with a slash: \(template)")
        tree.add(method, Route(template: template, bodyLimit: bodyLimit, handler: middleware.wrap(handler)))
    }

    /// Adds a route for GET and HEAD; see ``on(_:_:bodyLimit:_:)``.
    public mutating func get(_ template: String, _ handler: @escaping HTTPHandler) { on(.get, template, handler) }

    /// Adds a route for POST; see ``on(_:_:bodyLimit:_:)``.
    public mutating func post(_ template: String, bodyLimit: Int? = nil, _ handler: @escaping HTTPHandler) {
        on(.post, template, bodyLimit: bodyLimit, handler)
    }

    /// Adds a route for PUT; see ``on(_:_:bodyLimit:_:)``.
    public mutating func put(_ template: String, bodyLimit: Int? = nil, _ handler: @escaping HTTPHandler) {
        on(.put, template, bodyLimit: bodyLimit, handler)
    }

    /// Adds a route for PATCH; see ``on(_:_:bodyLimit:_:)``.
    public mutating func patch(_ template: String, bodyLimit: Int? = nil, _ handler: @escaping HTTPHandler) {
        on(.patch, template, bodyLimit: bodyLimit, handler)
    }

    /// Adds a route for DELETE; see ``on(_:_:bodyLimit:_:)``.
    public mutating func delete(_ template: String, _ handler: @escaping HTTPHandler) { on(.delete, template, handler) }

    /// Adds a GET route for WebSockets: a request without an upgrade is answered with 426, and the handler isn't called.
    ///
    /// - Parameter handler: answers with ``HTTPResponse/webSocket(subprotocol:configuration:headers:open:)``, or
    ///   refuses.
    public mutating func webSocket(_ template: String, _ handler: @escaping HTTPHandler) {
        get(template) { request in
            guard request.isWebSocketUpgrade else {
                throw HTTPError(
                    426, code: "UpgradeRequired", "a WebSocket is required here", headers: ["Upgrade": "websocket"])
            }
            return try await handler(request)
        }
    }

    /// The templates of all routes with their methods, sorted; for API descriptions and their checks.
    public var templates: [String] { tree.templates }
}

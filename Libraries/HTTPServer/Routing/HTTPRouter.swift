/// Finds the handler for a method and a path. Built before the server, which takes it as it is then.
///
/// A template's parts stand for themselves, `:name` for any one part, `*name` as the last for all the rest. A part that
/// stands for itself wins over a parameter: `/users/me` over `/users/:user`. Parts are compared percent-decoded; a
/// slash at the end is a part of its own.
public struct HTTPRouter: Sendable {
    private(set) var tree = RouteTree()
    private var middleware: [HTTPMiddleware] = []
    private var prefix = ""

    /// A router without routes.
    public init() {}

    /// Adds a step around the handlers of the routes that are added after this, in this router or group. Steps run in
    /// the order in which they were added, those of the outer groups first.
    public mutating func use(_ step: HTTPMiddleware) { middleware.append(step) }

    /// Adds a step around the handlers of the routes that are added after this.
    public mutating func use(
        _ step: nonisolated(nonsending) @escaping @Sendable (HTTPRequest, HTTPHandler) async throws -> HTTPResponse
    ) {
        use(HTTPMiddleware(step))
    }

    /// Adds routes whose templates begin with `prefix`; steps added inside are for them only.
    public mutating func group(_ prefix: String, _ add: (inout HTTPRouter) -> Void) {
        let outer = (middleware: middleware, prefix: self.prefix)
        self.prefix += prefix
        add(&self)
        (middleware, self.prefix) = outer
    }

    /// Adds a route. Two routes of one method that match the same paths, or a malformed template, are a programming
    /// error.
    ///
    /// - Parameters:
    ///   - method: GET serves HEAD too, unless HEAD has a route.
    ///   - template: begins with a slash.
    ///   - bodyLimit: in bytes; nil for the server's.
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

    /// Adds a GET route for WebSockets: a request that doesn't ask for an upgrade is answered with 426 before the
    /// handler is asked.
    ///
    /// - Parameter handler: answers with ``HTTPResponse/webSocket(subprotocol:configuration:headers:open:)``, or
    ///   refuses.
    public mutating func webSocket(_ template: String, _ handler: @escaping HTTPHandler) {
        get(template) { request in
            guard request.isWebSocketUpgrade else {
                throw HTTPError(
                    426, code: "UpgradeRequired", "a WebSocket is expected here", headers: ["Upgrade": "websocket"])
            }
            return try await handler(request)
        }
    }

    /// The templates of all routes with their methods, sorted; for documents and their checks.
    public var templates: [String] { tree.templates }
}

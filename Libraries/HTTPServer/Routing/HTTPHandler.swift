/// Answers a request.
///
/// It begins on the loop of the connection and must not block there: an `await` gives the loop back, and what computes
/// for longer belongs on another executor. Within a second or so of the client's hanging up its task is cancelled. What it throws is answered as ``HTTPError`` describes.
public typealias HTTPHandler = nonisolated(nonsending) @Sendable (HTTPRequest) async throws -> HTTPResponse

/// A step around the handlers: may answer itself, change the request for what follows, or change the response.
public struct HTTPMiddleware: Sendable {
    let body: nonisolated(nonsending) @Sendable (HTTPRequest, HTTPHandler) async throws -> HTTPResponse

    /// - Parameter body: gets the request and what follows.
    public init(
        _ body: nonisolated(nonsending) @escaping @Sendable (HTTPRequest, HTTPHandler) async throws -> HTTPResponse
    ) {
        self.body = body
    }

    /// The handler with this step before it.
    func wrap(_ handler: @escaping HTTPHandler) -> HTTPHandler {
        let body = body
        return { request in try await body(request, handler) }
    }
}

extension [HTTPMiddleware] {
    /// The handler with all steps before it, the first outermost.
    func wrap(_ handler: @escaping HTTPHandler) -> HTTPHandler {
        reversed().reduce(handler) { $1.wrap($0) }
    }
}

/// Answers a request.
///
/// It starts on the loop of the connection and must not block there: an `await` releases the loop, and long computations belong on
/// another executor. When the client disconnects, its task is cancelled within about a second. Its errors are answered as
/// ``HTTPError`` describes.
public typealias HTTPHandler = nonisolated(nonsending) @Sendable (HTTPRequest) async throws -> HTTPResponse

/// A step around the handlers. It may answer itself, change the request for the following steps, or change the response.
public struct HTTPMiddleware: Sendable {
    let body: nonisolated(nonsending) @Sendable (HTTPRequest, HTTPHandler) async throws -> HTTPResponse

    /// - Parameter body: receives the request and the next handler.
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

import Ccurl
import EventLoop

/// Sends HTTP requests over connections that are kept for reuse. It runs on a loop, and may be called from anywhere.
///
/// By default it follows no redirects. It doesn't decompress bodies, and uses neither the environment's proxies nor a `.netrc`
/// file. Cancelling a call aborts its exchange, closes the connection if it was in use, and throws `CancellationError`.
public actor HTTPClient: LoopActor {
    /// The loop of the sockets.
    public nonisolated let loop: EventLoop
    private nonisolated let configuration: Configuration
    /// How many requests may be under way at a time.
    public nonisolated var maximumRequests: Int { configuration.maximumRequests }
    private var multi: CurlMulti?
    private var isShutDown = false

    /// Makes a client without connections.
    public init(loop: EventLoop, configuration: Configuration = Configuration()) {
        self.loop = loop
        self.configuration = configuration
    }

    isolated deinit { multi?.close() }

    /// Sends a request and returns the whole response.
    /// - Throws: `HTTPClientError`; `CancellationError`. No status of a response is an error.
    public func send(_ request: Request) async throws -> Response {
        let transfer = try HTTPTransfer(request, configuration, isStreaming: false)
        return try await run(transfer) {
            let body = try await transfer.next(isolation: self)
            return transfer.response(body: body ?? [])
        }
    }

    /// Sends a request and passes the response's body to a callback while it is received.
    ///
    /// At most 256 KiB wait for the callback; then the connection is paused. The request's time limit includes the callback's time.
    /// - Parameters:
    ///   - request: The request to send.
    ///   - start: Called with the response without its body, before the first part of it.
    ///   - receive: Called with each part of the body, in order. An error that it throws ends the exchange.
    /// - Returns: The response without its body.
    /// - Throws: `HTTPClientError`; `CancellationError`; errors of the callbacks.
    @discardableResult
    public func download(
        _ request: Request, start: @Sendable (Response) async throws -> Void = { _ in },
        receive: @Sendable ([UInt8]) async throws -> Void
    ) async throws -> Response {
        let transfer = try HTTPTransfer(request, configuration, isStreaming: true)
        return try await run(transfer) {
            var hasStarted = false
            while let part = try await transfer.next(isolation: self) {
                if !hasStarted {
                    hasStarted = true
                    try await start(transfer.response())
                }
                try await receive(part)
            }
            let response = transfer.response()
            if !hasStarted { try await start(response) }
            return response
        }
    }

    /// Ends the exchanges in flight with `closed`, closes all connections, and accepts no more requests.
    public func shutDown() {
        isShutDown = true
        multi?.close()
        multi = nil
    }

    private func run(_ transfer: HTTPTransfer, _ body: () async throws -> Response) async throws -> Response {
        let multi = try openMulti()
        guard multi.count < configuration.maximumRequests else {
            throw HTTPClientError(.overloaded, "\(multi.count) requests are in flight already")
        }
        try multi.add(transfer)
        defer { self.multi?.remove(transfer) }  // when the body ended before the transfer
        return try await withTaskCancellationHandler {
            try await body()
        } onCancel: {
            loop.execute { transfer.end(.failure(CancellationError())) }
        }
    }

    private func openMulti() throws -> CurlMulti {
        if let multi { return multi }
        if isShutDown { throw HTTPClientError.shutDown }
        let multi = try CurlMulti(loop)
        multi.set(CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maximumConnectionsPerHost)
        multi.set(CURLMOPT_MAXCONNECTS, configuration.maximumIdleConnections)
        self.multi = multi
        return multi
    }
}

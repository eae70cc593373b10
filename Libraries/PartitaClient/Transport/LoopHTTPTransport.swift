#if os(Linux)
    import EventLoop
    import HTTPClient

    /// Calls over HTTP through our own client, on an event loop.
    public struct LoopHTTPTransport: HTTPTransport {
        private let client: HTTPClient

        public init(client: HTTPClient) { self.client = client }

        /// With a client of its own.
        public init(loop: EventLoop) { client = HTTPClient(loop: loop) }

        public func send(_ call: HTTPCall) async throws -> HTTPAnswer {
            // A server that wants a length gets it, also for a POST without a body.
            let hasBody = call.method != "GET" && call.method != "DELETE"
            let response = try await client.send(
                HTTPClient.Request(
                    method: call.method, url: call.url,
                    headers: call.headers.map { HTTPClient.Header($0.name, $0.value) },
                    body: hasBody ? call.body : nil))
            return HTTPAnswer(status: response.status, body: response.body)
        }
    }
#endif

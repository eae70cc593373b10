#if os(Linux)
    import EventLoop
    import HTTPClient

    /// Calls over HTTP with this package's client, on an event loop.
    public struct LoopHTTPTransport: HTTPTransport {
        private let client: HTTPClient

        public init(client: HTTPClient) { self.client = client }

        /// Creates a client of its own.
        /// - Parameter certificateAuthorityFile: certificates to trust instead of the system's.
        public init(loop: EventLoop, certificateAuthorityFile: String? = nil) {
            var configuration = HTTPClient.Configuration()
            configuration.certificateAuthorityFile = certificateAuthorityFile
            client = HTTPClient(loop: loop, configuration: configuration)
        }

        public func send(_ call: HTTPCall) async throws -> HTTPAnswer {
            // A POST without a body has a `Content-Length`, too, since some servers require it.
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

#if !os(Linux)
    import Foundation

    /// Calls over HTTP through URLSession.
    public struct URLSessionHTTPTransport: HTTPTransport {
        private let session: URLSession

        public init(session: URLSession = .shared) { self.session = session }

        public func send(_ call: HTTPCall) async throws -> HTTPAnswer {
            guard let url = URL(string: call.url) else {
                throw PartitaError(code: .unreachable, message: "\(call.url) is no URL")
            }
            var request = URLRequest(url: url)
            request.httpMethod = call.method
            for header in call.headers { request.setValue(header.value, forHTTPHeaderField: header.name) }
            if !call.body.isEmpty { request.httpBody = Data(call.body) }
            let (data, response) = try await session.data(for: request)
            guard let response = response as? HTTPURLResponse else {
                throw PartitaError(code: .badResponse, message: "\(call.url) didn't answer over HTTP")
            }
            return HTTPAnswer(status: response.statusCode, body: Array(data))
        }
    }

    /// Sync connections through URLSession.
    public struct URLSessionSyncTransport: SyncTransport {
        private let session: URLSession
        private let maximumMessageSize: Int

        public init(session: URLSession = .shared, maximumMessageSize: Int = 64 << 20) {
            self.session = session
            self.maximumMessageSize = maximumMessageSize
        }

        public func connect(_ url: String, subprotocol: String) async throws -> any SyncConnection {
            guard let url = URL(string: url) else {
                throw PartitaError(code: .unreachable, message: "\(url) is no URL")
            }
            let task = session.webSocketTask(with: url, protocols: [subprotocol])
            task.maximumMessageSize = maximumMessageSize
            task.resume()
            return URLSessionSyncConnection(task: task)
        }
    }

    /// A connection through URLSession, which queues frames that are sent before it is open, and reads only on request.
    struct URLSessionSyncConnection: SyncConnection {
        let task: URLSessionWebSocketTask

        func send(_ text: [UInt8]) {
            // A failure ends the connection, and `receive` then returns `nil`.
            task.send(.string(String(decoding: text, as: UTF8.self))) { _ in }
        }

        func receive() async -> [UInt8]? {
            do {
                switch try await task.receive() {
                case .string(let text): return Array(text.utf8)
                case .data(let data): return Array(data)
                @unknown default: return nil
                }
            } catch {
                return nil
            }
        }

        func close() { task.cancel(with: .normalClosure, reason: nil) }
    }
#endif

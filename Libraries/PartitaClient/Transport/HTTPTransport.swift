/// A call over HTTP.
public struct HTTPCall: Sendable {
    public var method: String
    public var url: String
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]

    public init(method: String, url: String, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// The response to a call over HTTP.
public struct HTTPAnswer: Sendable {
    public var status: Int
    public var body: [UInt8]

    public init(status: Int, body: [UInt8] = []) {
        self.status = status
        self.body = body
    }
}

/// Makes calls over HTTP: with this package's client on Linux, with URLSession on Apple platforms.
public protocol HTTPTransport: Sendable {
    /// Makes a call. A response with any status is returned.
    ///
    /// - Throws: When there is no response.
    func send(_ call: HTTPCall) async throws -> HTTPAnswer
}

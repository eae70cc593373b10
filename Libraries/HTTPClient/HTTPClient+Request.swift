extension HTTPClient {
    /// One header field. Names are compared without regard to case.
    public struct Header: Sendable, Hashable {
        /// The field's name, as sent or received.
        public var name: String
        /// The field's value without surrounding blanks.
        public var value: String

        /// Makes a field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// A name and a password.
    public struct Credentials: Sendable {
        public var username: String
        public var password: String

        public init(username: String, password: String) {
            self.username = username
            self.password = password
        }
    }

    /// A request to a server.
    public struct Request: Sendable {
        /// `GET`, `POST`, …: a token, sent as it is.
        public var method: String
        /// An absolute URL with the scheme `http` or `https`.
        public var url: String
        /// The header fields, sent in this order in addition to those that the protocol needs.
        public var headers: [Header]
        /// The body, which is sent with its length. An empty body is sent with length 0, `nil` sends none.
        public var body: [UInt8]?
        /// The time limit for the whole exchange, from the call to the last byte; `nil` is the client's.
        public var timeout: Duration?
        /// The maximum size of the response body in bytes; `nil` is the client's.
        public var maximumResponseBytes: Int?
        /// The maximum number of redirects that are followed. With 0, the response is the redirect itself.
        public var maximumRedirects = 0
        /// The name and password for digest authentication (RFC 7616); `nil`: none.
        public var digestAuthentication: Credentials?

        /// Makes a request.
        public init(
            method: String = "GET", url: String, headers: [Header] = [], body: [UInt8]? = nil, timeout: Duration? = nil,
            maximumResponseBytes: Int? = nil
        ) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
            self.timeout = timeout
            self.maximumResponseBytes = maximumResponseBytes
        }
    }

    /// A server's response.
    public struct Response: Sendable {
        /// The status code of the last response, after redirects that were followed.
        public var status: Int
        /// The header fields of the last response, in order.
        public var headers: [Header]
        /// The body; empty when it was passed to a callback.
        public var body: [UInt8]
        /// The absolute URL to which the response redirects, if it does and wasn't followed.
        public var redirect: String?

        /// The first value of a header field.
        public subscript(header name: String) -> String? { values(ofHeader: name).first }

        /// All values of a header field, in order.
        public func values(ofHeader name: String) -> [String] {
            let name = name.lowercased()
            return headers.filter { $0.name.lowercased() == name }.map(\.value)
        }

        /// The body as text; invalid UTF-8 is replaced.
        public var text: String { String(decoding: body, as: UTF8.self) }
    }
}

extension HTTPClient {
    /// One header field. Names are compared without regard to case.
    public struct Header: Sendable, Hashable {
        /// The field's name, as it is sent or as it came.
        public var name: String
        /// The field's value without surrounding blanks.
        public var value: String

        /// Makes a field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// What to ask a server for.
    public struct Request: Sendable {
        /// `GET`, `POST`, …: a token, sent as it is.
        public var method: String
        /// An absolute URL with the scheme `http` or `https`.
        public var url: String
        /// Sent in this order, in addition to what the protocol needs.
        public var headers: [Header]
        /// Sent with its length. Without one, nothing is; an empty one is sent as length 0.
        public var body: [UInt8]?
        /// Time for the whole exchange, from the call to the last byte; `nil` is the client's.
        public var timeout: Duration?
        /// The largest response body that is taken; `nil` is the client's.
        public var maximumResponseBytes: Int?
        /// How many redirects are followed. With 0, the answer is the redirect itself.
        public var maximumRedirects = 0

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

    /// What a server answered.
    public struct Response: Sendable {
        /// The status code of the last answer, after redirects that were followed.
        public var status: Int
        /// The header fields of the last answer, in their order.
        public var headers: [Header]
        /// The body; empty when it was given to a callback.
        public var body: [UInt8]

        /// The first value of a header field.
        public subscript(header name: String) -> String? { values(ofHeader: name).first }

        /// All values of a header field, in their order.
        public func values(ofHeader name: String) -> [String] {
            let name = name.lowercased()
            return headers.filter { $0.name.lowercased() == name }.map(\.value)
        }

        /// The body as text; what isn't UTF-8 is replaced.
        public var text: String { String(decoding: body, as: UTF8.self) }
    }
}

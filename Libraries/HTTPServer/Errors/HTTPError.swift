import EventLoop

/// An error response. When a handler or a middleware throws it, the response has the JSON body
/// `{"error": message, "error_code": code}`, and `link` if there is one, with `Content-Type: application/json`.
public struct HTTPError: Error, Sendable, CustomStringConvertible {
    /// The status code, 400 to 599.
    public var status: Int
    /// A stable name for programs, such as `InvalidSession`.
    public var code: String
    /// The message for people, which the client sees.
    public var message: String
    /// Additional header fields of the response.
    public var headers: HTTPHeaders
    /// The URL of something that explains the error, such as a log.
    public var link: String?

    /// Creates an error; the parameters are described at the properties.
    public init(_ status: Int, code: String, _ message: String, headers: HTTPHeaders = HTTPHeaders()) {
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers
    }

    public var description: String { "\(status) \(code): \(message)" }

    /// The answer. One that the service is unavailable says when to try again, in a second unless `headers` say another time (RFC 9110, section
    /// 10.2.3).
    public var response: HTTPResponse {
        let link = link.map { ",\"link\":\(JSONText.quoted($0))" } ?? ""
        var response = HTTPResponse.json(
            "{\"error\":\(JSONText.quoted(message)),\"error_code\":\(JSONText.quoted(code))\(link)}", status: status)
        for (name, value) in headers { response.headers.add(name, value) }
        if status == 503, headers["retry-after"] == nil { response.headers.add("Retry-After", "1") }
        return response
    }
}

/// An error of another module that determines its response. Other errors are answered with 500 and logged.
public protocol HTTPErrorConvertible: Error {
    /// The error for the client.
    var httpError: HTTPError { get }
}

extension HTTPError: HTTPErrorConvertible {
    public var httpError: HTTPError { self }
}

extension HTTPError {
    static let notFound = HTTPError(404, code: "NotFound", "no such resource")
    static let internalError = HTTPError(500, code: "InternalServerError", "internal server error")
    static let unavailable = HTTPError(503, code: "ServiceUnavailable", "the server is stopping")

    /// For the log only, since the client has disconnected; nginx's status for this.
    static let clientLeft = HTTPError(499, code: "ClientClosedRequest", "the client disconnected")

    static func methodNotAllowed(_ allowed: String) -> HTTPError {
        HTTPError(405, code: "MethodNotAllowed", "method not allowed", headers: ["Allow": allowed])
    }

    static func badRequest(_ message: String) -> HTTPError { HTTPError(400, code: "BadRequest", message) }

    static func tooManyBodies(_ refusal: InflightBudget.Refusal) -> HTTPError {
        switch refusal {
        case .share:
            HTTPError(
                429, code: "TooManyRequests", "this address sends too much data at a time; try again later",
                headers: ["Retry-After": "1"])
        case .full:
            HTTPError(
                503, code: "ServiceUnavailable", "the server receives too much data at the moment; try again later")
        }
    }

    static func tooManyAnswers(_ refusal: InflightBudget.Refusal) -> HTTPError {
        switch refusal {
        case .share:
            HTTPError(
                429, code: "TooManyRequests", "this address is sent too much data at a time; try again later",
                headers: ["Retry-After": "1"])
        case .full:
            HTTPError(503, code: "ServiceUnavailable", "the server sends too much data at the moment; try again later")
        }
    }

    static func bodyTooLarge(_ limit: Int) -> HTTPError {
        HTTPError(413, code: "RequestEntityTooLarge", "the body is larger than \(limit) bytes")
    }
}

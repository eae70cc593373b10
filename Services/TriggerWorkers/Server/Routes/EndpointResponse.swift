import AppDefinition
import DocumentModel
import HTTPServer
import ServiceEngines

/// The HTTP response that an endpoint's function made.
struct EndpointResponse {
    /// Fields that belong to the connection, or that tell the proxy in front what to send instead of the response.
    private static let reserved = [
        "connection", "content-length", "date", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
    ]
    private static let proxyPrefix = "x-accel-"

    /// Gives a page that a function makes an origin of its own (CSP Level 3, `sandbox`). Otherwise its scripts had that of auth and of all apps:
    /// they could read answers meant for another app's page, and set cookies by which sign-ins are bound to a browser.
    private static let sandbox =
        "sandbox allow-downloads allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-scripts allow-top-navigation"

    /// `{result, response: {statusCode, headers, body, isSet}}`.
    let value: Value
    /// Whether the function's value isn't answered once the function has set something on its response, as of webhooks.
    let ignoresValue: Bool

    /// - Parameter isExtended: whether the function's value is answered as Extended JSON.
    /// - Throws: `HTTPError` 500 `FunctionExecutionError` for a status or a header that a response can't have.
    func response(isExtended: Bool) throws(HTTPError) -> HTTPResponse {
        let given = value["response"]
        let status = given?["statusCode"]?.intValue ?? 200
        guard (200...599).contains(status) else {
            throw HTTPError(
                500, code: "FunctionExecutionError", "the function set the status \(status), which must be 200 to 599")
        }
        let fields = try headers(given?["headers"]?.documentValue ?? [:])
        var response = content(given?["body"], status, isConfigured: status != 200 || fields.count > 0, isExtended)
        for (name, _) in fields { response.headers[name] = nil }
        for (name, value) in fields { response.headers.add(name, value) }
        response.headers.add("Content-Security-Policy", Self.sandbox)
        return response
    }

    /// The body that the function set, or else its value.
    private func content(_ body: Value?, _ status: Int, isConfigured: Bool, _ isExtended: Bool) -> HTTPResponse {
        switch body {
        case .string(let text)?:
            return .json(text, status: status)
        case .binary(let binary)?:
            return .json(binary.bytes, status: status)
        default: break
        }
        if ignoresValue, value["response"]?["isSet"] == true { return HTTPResponse(status: status) }
        switch value["result"] {
        case nil, .undefined?:
            if isConfigured { return HTTPResponse(status: status) }
            return .value(.null, status: status, isExtended: isExtended)
        case let result?: return .value(result, status: status, isExtended: isExtended)
        }
    }

    private func headers(_ given: Document) throws(HTTPError) -> HTTPHeaders {
        var headers = HTTPHeaders()
        for field in given.fields {
            let name = field.key.lowercased()
            if Self.reserved.containsExactly(name) || name.startsWithBytes(of: Self.proxyPrefix) { continue }
            for value in field.value.arrayValue ?? [] {
                guard let text = value.stringValue else { continue }
                guard HTTPHeaders.isField(name: field.key, value: text) else {
                    throw HTTPError(
                        500, code: "FunctionExecutionError",
                        "the function set the header \(field.key.debugDescription), and a response can't have its name or its value: a name is a token such as X-Count, and a value has no line breaks"
                    )
                }
                if name.hasSameBytes(as: "set-cookie"), SystemCookie.isMeant(by: text) {
                    throw HTTPError(
                        500, code: "FunctionExecutionError",
                        "the function set a cookie whose name begins with \(SystemCookie.prefix), which only the system's own may"
                    )
                }
                headers.add(field.key, text)
            }
        }
        return headers
    }
}

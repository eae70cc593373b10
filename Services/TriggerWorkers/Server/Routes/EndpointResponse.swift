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
    /// Fields that hold for the whole host, whatever document they come with, and so for auth and all apps: by `NEL` and `Report-To` a browser would
    /// report their addresses, with tokens; the others clear cookies, pin keys, move the host elsewhere, or widen a worker's scope.
    private static let ofTheHost = [
        "accept-ch", "activate-storage-access", "alt-svc", "clear-site-data", "critical-ch", "expect-ct", "nel",
        "origin-agent-cluster",
        "public-key-pins", "public-key-pins-report-only", "report-to", "sec-session-registration",
        "secure-session-registration",
        "service-worker-allowed", "set-login", "strict-transport-security", "use-as-dictionary",
    ]
    /// Names the fields that were left out.
    private static let leftOut = "Partita-Left-Out"

    /// Gives a page that a function makes an origin of its own (CSP Level 3, `sandbox`). Otherwise its scripts had that of auth and of all apps:
    /// they could read answers meant for another app's page, and set cookies by which sign-ins are bound to a browser.
    private static let sandbox =
        "sandbox allow-downloads allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-scripts allow-top-navigation"

    /// `{result, response: {statusCode, headers, body, isSet}}`.
    let value: Value
    /// Whether the function's value isn't answered once the function has set something on its response, as of webhooks.
    let ignoresValue: Bool
    /// The path below which everything is the app's.
    let appPath: String

    /// The most bytes of the header fields that a function sets: the proxy takes heads of 32 KiB.
    private static let headLimit = 24 << 10

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
        var size = 0
        var leftOut: [String] = []
        for field in given.fields {
            let name = field.key.lowercased()
            if Self.reserved.containsExactly(name) || name.startsWithBytes(of: Self.proxyPrefix) { continue }
            guard !Self.ofTheHost.containsExactly(name) else {
                leftOut.append(field.key)
                continue
            }
            for value in field.value.arrayValue ?? [] {
                guard let text = value.stringValue else { continue }
                guard HTTPHeaders.isField(name: field.key, value: text) else {
                    throw HTTPError(
                        500, code: "FunctionExecutionError",
                        "the function set the header \(field.key.debugDescription), and a response can't have its name or its value: a name is a token such as X-Count, and a value has no line breaks"
                    )
                }
                size += field.key.utf8.count + text.utf8.count
                guard size <= Self.headLimit else {
                    throw HTTPError(
                        500, code: "FunctionExecutionError",
                        "the function set headers of more than \(Self.headLimit) bytes, which a response can't have")
                }
                if name.hasSameBytes(as: "set-cookie") {
                    headers.add(field.key, EndpointCookie.confined(text, to: appPath))
                    continue
                }
                headers.add(field.key, text)
            }
        }
        if !leftOut.isEmpty { headers[Self.leftOut] = leftOut.joined(separator: ", ") }
        return headers
    }
}

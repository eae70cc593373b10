import DocumentModel
import Foundation
import FunctionProtocol
import HTTPClient

/// An HTTP request of a function: by `context.http`, or by a service of type `http`.
struct HTTPCall: Sendable {
    static let error = "HTTPError"
    /// The redirects that a request with `followRedirects` follows, as many as in Go's client, which App Services used.
    private static let maximumRedirects = 10
    /// The fields of a request; others are refused by name.
    private static let fields: Set<String> = [
        "url", "headers", "body", "form", "encodeBodyAsJSON", "followRedirects", "digestAuth", "username", "password",
        "authUrl",
    ]

    /// `get`
    let action: String
    private(set) var arguments: Document

    init(_ action: String, _ arguments: Document) {
        self.action = action
        self.arguments = arguments
    }

    /// The arguments as rules see them: with the URL in its parts.
    /// - Throws: `EffectFailure` for a URL without scheme or host.
    func ruleArguments() throws -> Document {
        guard let parts = arguments["url"]?.stringValue.flatMap(HTTPClient.URLParts.init) else {
            throw EffectFailure(name: Self.error, message: "http.\(action): url must be a URL with http:// or https://")
        }
        var components = URLComponents()
        components.percentEncodedQuery = parts.query
        var query = Document()
        for item in components.queryItems ?? [] where query[item.name] == nil {
            query[item.name] = .string(item.value ?? "")
        }
        var result = arguments
        result["url"] = [
            "scheme": .string(parts.scheme), "host": .string(parts.host), "path": .string(parts.path),
            "query": .document(query), "fragment": .string(parts.fragment),
        ]
        return result
    }

    /// - Parameter check: called with each request that a redirect or `authUrl` leads to, before it is sent; `nil`: they lead anywhere.
    /// - Throws: `EffectFailure`, `HTTPClientError`, `CancellationError`; what `check` throws.
    func perform(
        with client: HTTPClient, checkingRedirects check: (@Sendable (HTTPCall) async throws -> Void)? = nil
    ) async throws -> Value {
        var call = try await authorized(with: client, check)
        guard let check else { return Self.answer(try await client.send(try call.request())) }
        for _ in 0...Self.maximumRedirects {
            var request = try call.request()
            let follows = request.maximumRedirects > 0
            request.maximumRedirects = 0
            let response = try await client.send(request)
            guard follows, let next = call.redirected(by: response) else { return Self.answer(response) }
            try await check(next)
            call = next
        }
        throw EffectFailure(
            name: Self.error, message: "http.\(action): more than \(Self.maximumRedirects) redirects")
    }

    /// The request to which a response redirects, made as the HTTP client makes it (RFC 9110, 15.4): without a body where the method
    /// becomes GET, and without credentials for another host.
    private func redirected(by response: HTTPClient.Response) -> HTTPCall? {
        guard let url = response.redirect, [301, 302, 303, 307, 308].contains(response.status) else { return nil }
        var (action, arguments) = (action, arguments)
        var dropped: [String] = []
        if response.status == 303 ? action != "head" : response.status < 307 && action == "post" {
            action = "get"
            arguments["body"] = nil
            arguments["form"] = nil
            arguments["encodeBodyAsJSON"] = nil
            dropped = ["content-type", "content-length", "content-encoding", "transfer-encoding"]
        }
        let (here, there) = (self.url.flatMap(HTTPClient.URLParts.init), HTTPClient.URLParts(url))
        if here?.scheme != there?.scheme || here?.host != there?.host {
            dropped += ["authorization", "cookie"]
            for field in ["digestAuth", "username", "password"] { arguments[field] = nil }
        }
        if var headers = arguments["headers"]?.documentValue {
            headers.fields.removeAll { dropped.containsExactly($0.key.lowercased()) }
            arguments["headers"] = .document(headers)
        }
        arguments["url"] = .string(url)
        return HTTPCall(action, arguments)
    }

    /// The call with the cookies that its `authUrl` grants to it.
    /// - Throws: `EffectFailure` when the answer has no cookie; what `send` and `check` throw.
    private func authorized(
        with client: HTTPClient, _ check: (@Sendable (HTTPCall) async throws -> Void)?
    ) async throws -> HTTPCall {
        guard let url = arguments["authUrl"] else { return self }
        guard let url = url.stringValue else {
            throw EffectFailure(name: Self.error, message: "http.\(action): authUrl must be a URL")
        }
        let login = HTTPCall("get", ["url": .string(url)])
        try await check?(login)
        let response = try await client.send(try login.request())
        let cookies = Self.cookies(of: response)
        guard response.status < 400, !cookies.isEmpty else {
            throw EffectFailure(
                name: Self.error,
                message:
                    "http.\(action): authUrl was answered with status \(response.status) and \(cookies.count) cookies, so the request isn't authorized"
            )
        }
        var call = self
        call.arguments["authUrl"] = nil
        var headers = arguments["headers"]?.documentValue ?? [:]
        let present = headers.fields.filter { $0.key.lowercased() == "cookie" }.flatMap { Self.texts($0.value) }
        headers.fields.removeAll { $0.key.lowercased() == "cookie" }
        let granted = cookies.map { "\($0.name)=\($0.value)" }
        headers["Cookie"] = .array([.string((present + granted).joined(separator: "; "))])
        call.arguments["headers"] = .document(headers)
        return call
    }

    private static func texts(_ value: Value) -> [String] { (value.arrayValue ?? [value]).compactMap(\.stringValue) }

    /// The cookies that a response sets, in its order (RFC 6265, 4.1).
    private static func cookies(of response: HTTPClient.Response) -> [HTTPClient.Header] {
        response.values(ofHeader: "Set-Cookie").compactMap { line in
            let pair = line.splitAtBytes(";")[0]
            guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let name = pair[..<equals].trimmingCharacters(in: .whitespaces)
            let value = pair[equals...].dropFirst().trimmingCharacters(in: .whitespaces)
            return name.isEmpty ? nil : HTTPClient.Header(name, value)
        }
    }

    private var url: String? { arguments["url"]?.stringValue }

    private func request() throws -> HTTPClient.Request {
        guard let url else { throw EffectFailure(name: Self.error, message: "http.\(action) needs a url") }
        for field in arguments.fields where !Self.fields.contains(field.key) {
            throw EffectFailure(name: Self.error, message: "http.\(action): \(field.key) is not supported")
        }
        var headers: [HTTPClient.Header] = []
        for field in arguments["headers"]?.documentValue?.fields ?? [] {
            headers += Self.texts(field.value).map { HTTPClient.Header(field.key, $0) }
        }
        var body: [UInt8]?
        switch arguments["body"] {
        case _ where arguments["form"] != nil:
            let form = try HTTPForm(arguments["form"], for: "http.\(action)", &headers)
            body = form.body
        case .string(let text)?: body = Array(text.utf8)
        case .binary(let binary)?: body = binary.bytes
        case let value? where arguments["encodeBodyAsJSON"]?.boolValue == true:
            var text: [UInt8] = []
            ExtendedJSON.append(value, mode: .relaxed, to: &text)
            body = text
            if !headers.contains(where: { $0.name.lowercased() == "content-type" }) {
                headers.append(HTTPClient.Header("Content-Type", "application/json"))
            }
        default: break
        }
        var request = HTTPClient.Request(
            method: action.uppercased(), url: url, headers: headers, body: body)
        if arguments["followRedirects"]?.boolValue == true { request.maximumRedirects = Self.maximumRedirects }
        if arguments["digestAuth"]?.boolValue == true {
            let given = arguments["username"]?.stringValue.map {
                HTTPClient.Credentials(username: $0, password: arguments["password"]?.stringValue ?? "")
            }
            guard let credentials = given ?? HTTPClient.URLParts(url)?.credentials else {
                throw EffectFailure(
                    name: Self.error,
                    message: "http.\(action): digestAuth needs a username and a password, as arguments or in the URL")
            }
            request.digestAuthentication = credentials
        }
        return request
    }

    private static func answer(_ response: HTTPClient.Response) -> Value {
        var cookies = Document()
        for cookie in Self.cookies(of: response) { cookies[cookie.name] = .string(cookie.value) }
        return .document([
            "status": .string("\(response.status)"), "statusCode": .int32(Int32(clamping: response.status)),
            "contentLength": .int64(Int64(response.body.count)), "cookies": .document(cookies),
            "headers": .document(Document(titledHeaders: response.headers.lazy.map { ($0.name, $0.value) })),
            "body": .binary(Binary(response.body)),
        ])
    }
}

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
        "url", "headers", "body", "encodeBodyAsJSON", "followRedirects", "digestAuth", "username", "password",
    ]

    /// `get`
    let action: String
    let arguments: Document

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

    /// - Parameter check: called with each request that a redirect leads to, before it is sent; `nil`: redirects lead anywhere.
    /// - Throws: `EffectFailure`, `HTTPClientError`, `CancellationError`; what `check` throws.
    func perform(
        with client: HTTPClient, checkingRedirects check: (@Sendable (HTTPCall) async throws -> Void)? = nil
    ) async throws -> Value {
        guard let check else { return Self.answer(try await client.send(try request())) }
        var call = self
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

    private var url: String? { arguments["url"]?.stringValue }

    private func request() throws -> HTTPClient.Request {
        guard let url else { throw EffectFailure(name: Self.error, message: "http.\(action) needs a url") }
        for field in arguments.fields where !Self.fields.contains(field.key) {
            throw EffectFailure(name: Self.error, message: "http.\(action): \(field.key) is not supported")
        }
        var headers: [HTTPClient.Header] = []
        for field in arguments["headers"]?.documentValue?.fields ?? [] {
            let values = field.value.arrayValue ?? [field.value]
            headers += values.compactMap { $0.stringValue.map { HTTPClient.Header(field.key, $0) } }
        }
        var body: [UInt8]?
        switch arguments["body"] {
        case .string(let text)?: body = Array(text.utf8)
        case .binary(let binary)?: body = binary.bytes
        case let value? where arguments["encodeBodyAsJSON"]?.boolValue == true:
            var text: [UInt8] = []
            ExtendedJSON.append(value, mode: .relaxed, to: &text)
            body = text
        default: break
        }
        var request = HTTPClient.Request(
            method: action.uppercased(), url: url, headers: headers, body: body)
        if arguments["followRedirects"]?.boolValue == true { request.maximumRedirects = Self.maximumRedirects }
        if arguments["digestAuth"]?.boolValue == true {
            guard let username = arguments["username"]?.stringValue, let password = arguments["password"]?.stringValue
            else { throw EffectFailure(name: Self.error, message: "digestAuth needs a username and a password") }
            request.digestAuthentication = .init(username: username, password: password)
        }
        return request
    }

    private static func answer(_ response: HTTPClient.Response) -> Value {
        var answer: [ExactText: [Value]] = [:]
        for header in response.headers { answer[header.name, default: []].append(.string(header.value)) }
        return .document([
            "status": .string("\(response.status)"), "statusCode": .int32(Int32(clamping: response.status)),
            "headers": .document(
                Document(fields: answer.sorted { $0.key < $1.key }.map { .init($0.key.text, .array($0.value)) })),
            "body": .binary(Binary(response.body)),
        ])
    }
}
